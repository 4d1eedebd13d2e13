/*
 * Slots in one array; the epoll cookie is {slot, generation}. A removed slot bumps its generation
 * and goes to the free list, so late events for it compare unequal. Timers sit in the same slots
 * and are found by a linear scan: a process here has a handful (one per running exec at most), and
 * a heap would cost more code than it saves time. Signals share one signalfd.
 */
#include "loop/loop.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

static_assert(LOOP_READ == EPOLLIN && LOOP_WRITE == EPOLLOUT && LOOP_HANGUP == EPOLLHUP &&
		      LOOP_EDGE == EPOLLET,
	      "loop events are epoll's");

#define LOOP_EVENTS_PER_TURN 64
#define LOOP_FIRST_SLOTS 16

enum slot_kind { SLOT_FREE, SLOT_FD, SLOT_TIMER, SLOT_SIGNAL };

struct slot {
	enum slot_kind kind;
	uint32_t gen;
	int fd;          /* or the signal's number */
	uint32_t events; /* the kernel knows these */
	uint64_t deadline;
	union {
		loop_fd_fn *on_fd;
		loop_timer_fn *on_timer;
		loop_signal_fn *on_signal;
	};
	void *arg;
};

struct loop {
	int epoll;
	int signals; /* signalfd, or -1 until a signal is asked for */
	sigset_t mask;
	struct slot *slot;
	uint32_t n_slots;
	uint32_t n_live;
	bool stop;
};

#define SIGNAL_COOKIE UINT64_MAX

static loop_id id_of(uint32_t slot, uint32_t gen)
{
	return (uint64_t)gen << 32 | slot;
}

static struct slot *find(struct loop *l, loop_id id)
{
	uint32_t i = (uint32_t)id;

	if (id == 0 || i >= l->n_slots || l->slot[i].gen != (uint32_t)(id >> 32) ||
	    l->slot[i].kind == SLOT_FREE)
		return NULL;
	return &l->slot[i];
}

int loop_new(struct loop **ret)
{
	struct loop *l = xcalloc(1, sizeof(*l));

	l->signals = -1;
	sigemptyset(&l->mask);
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0) {
		int r = -errno;

		free(l);
		return r;
	}
	*ret = l;
	return 0;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	fd_closep(&l->signals);
	fd_closep(&l->epoll);
	free(l->slot);
	free(l);
}

static loop_id claim(struct loop *l, enum slot_kind kind, void *arg)
{
	uint32_t i = 0;

	while (i < l->n_slots && l->slot[i].kind != SLOT_FREE)
		i++;
	if (i == l->n_slots) {
		uint32_t n = l->n_slots ? l->n_slots * 2 : LOOP_FIRST_SLOTS;
		struct slot *s = realloc(l->slot, n * sizeof(*s));

		if (!s) {
			errno = ENOMEM;
			return 0;
		}
		memset(s + l->n_slots, 0, (n - l->n_slots) * sizeof(*s));
		l->slot = s;
		l->n_slots = n;
	}
	l->slot[i].kind = kind;
	l->slot[i].gen = l->slot[i].gen == UINT32_MAX ? 1 : l->slot[i].gen + 1;
	l->slot[i].arg = arg;
	l->n_live++;
	return id_of(i, l->slot[i].gen);
}

loop_id loop_add_fd(struct loop *l, int fd, uint32_t events, loop_fd_fn *fn, void *arg)
{
	loop_id id = claim(l, SLOT_FD, arg);
	struct epoll_event ev = { .events = events, .data.u64 = id };
	struct slot *s = find(l, id);

	if (!s)
		return 0;
	s->fd = fd;
	s->on_fd = fn;
	s->events = events;
	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &ev) < 0) {
		int saved = errno;

		s->kind = SLOT_FREE;
		l->n_live--;
		errno = saved;
		return 0;
	}
	return id;
}

void loop_change_fd(struct loop *l, loop_id id, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.u64 = id };
	struct slot *s = find(l, id);

	if (!s || s->events == events)
		return; /* callers say what they want after each turn; mostly it is what they have */
	s->events = events;
	IGNORE(epoll_ctl(l->epoll, EPOLL_CTL_MOD, s->fd, &ev)); /* the fd is registered */
}

loop_id loop_add_timer(struct loop *l, uint64_t deadline_ns, loop_timer_fn *fn, void *arg)
{
	loop_id id = claim(l, SLOT_TIMER, arg);
	struct slot *s = find(l, id);

	if (!s)
		return 0;
	s->deadline = deadline_ns;
	s->on_timer = fn;
	return id;
}

loop_id loop_add_signal(struct loop *l, int sig, loop_signal_fn *fn, void *arg)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = SIGNAL_COOKIE };
	bool first = l->signals < 0;
	loop_id id;
	struct slot *s;
	int fd;

	sigaddset(&l->mask, sig);
	if (sigprocmask(SIG_BLOCK, &l->mask, NULL) < 0)
		return 0;
	fd = signalfd(l->signals, &l->mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return 0;
	l->signals = fd;
	if (first && epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &ev) < 0)
		return 0;
	id = claim(l, SLOT_SIGNAL, arg);
	s = find(l, id);
	if (!s)
		return 0;
	s->fd = sig;
	s->on_signal = fn;
	return id;
}

void loop_remove(struct loop *l, loop_id *id)
{
	struct slot *s = find(l, *id);

	*id = 0;
	if (!s)
		return;
	if (s->kind == SLOT_FD)
		IGNORE(epoll_ctl(l->epoll, EPOLL_CTL_DEL, s->fd, NULL)); /* may be closed already */
	s->kind = SLOT_FREE;
	l->n_live--;
}

void loop_stop(struct loop *l)
{
	l->stop = true;
}

static void deliver_signals(struct loop *l)
{
	struct signalfd_siginfo si;

	while (!l->stop && read(l->signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
		for (uint32_t i = 0; i < l->n_slots; i++)
			if (l->slot[i].kind == SLOT_SIGNAL && l->slot[i].fd == (int)si.ssi_signo)
				l->slot[i].on_signal(l->slot[i].arg, (int)si.ssi_signo);
}

static struct slot *earliest_timer(struct loop *l)
{
	struct slot *best = NULL;

	for (uint32_t i = 0; i < l->n_slots; i++)
		if (l->slot[i].kind == SLOT_TIMER &&
		    (!best || l->slot[i].deadline < best->deadline))
			best = &l->slot[i];
	return best;
}

/* Fires what is due, in the order of deadlines; returns milliseconds until the next timer, or -1. What
 * a timer adds for a later moment than this turn's waits for the next, so that nothing starves. */
static int run_timers(struct loop *l)
{
	uint64_t now = clock_mono_ns(), left;
	struct slot *s;

	while ((s = earliest_timer(l)) && s->deadline <= now && !l->stop) {
		loop_timer_fn *fn = s->on_timer;
		void *arg = s->arg;

		s->kind = SLOT_FREE; /* one shot: gone before it runs, so it may add a new one */
		l->n_live--;
		fn(arg);
	}
	if (!s)
		return -1;
	now = clock_mono_ns();
	if (s->deadline <= now)
		return 0;
	left = (s->deadline - now + NS_PER_MS - 1) / NS_PER_MS; /* round up: never wake too early */
	return left > INT32_MAX ? INT32_MAX : (int)left;
}

int loop_run(struct loop *l)
{
	struct epoll_event ev[LOOP_EVENTS_PER_TURN];

	l->stop = false;
	while (!l->stop && l->n_live > 0) {
		int timeout = run_timers(l);
		int n;

		if (l->stop || l->n_live == 0)
			break;
		n = epoll_wait(l->epoll, ev, LOOP_EVENTS_PER_TURN, timeout);
		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n && !l->stop; i++) {
			struct slot *s;

			if (ev[i].data.u64 == SIGNAL_COOKIE) {
				deliver_signals(l);
				continue;
			}
			s = find(l, ev[i].data.u64);
			if (s && s->kind == SLOT_FD)
				s->on_fd(s->arg, s->fd, ev[i].events);
		}
	}
	return 0;
}
