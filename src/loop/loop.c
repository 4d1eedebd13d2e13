/*
 * Each descriptor, timer and signal has a slot in one array. The epoll cookie is {slot,
 * generation}. When an entry is removed, its slot goes to the free list. When a new entry takes the
 * slot, the generation of the slot is raised. So a late event for the removed entry finds a free
 * slot or another generation, and is dropped. A server keeps thousands of idle descriptors and
 * timers, so no operation walks all slots: free slots are a list, timers are a heap ordered by
 * deadline, and the few signals are a list. All signals share one signalfd.
 */
#include "loop/loop.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
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
	int fd;          /* the descriptor, or the number of the signal */
	uint32_t events; /* what epoll watches */
	uint32_t next;   /* for free slots and for signals: the next slot in the list */
	uint32_t at;     /* for timers: the index in the heap */
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
	int signals; /* signalfd, or -1 as long as no signal is watched */
	sigset_t mask;
	struct slot *slot;
	uint32_t n_slots;
	uint32_t n_live;
	uint32_t free_slot;   /* the first free slot, or NO_SLOT */
	uint32_t signal_slot; /* the first signal slot, or NO_SLOT */
	uint32_t *timer;      /* heap of slots, the earliest deadline first */
	uint32_t n_timers;
	uint32_t timer_room;
	uint64_t looked_at;
	bool stop;
	loop_blocked_fn *on_blocked; /* NULL: blocking is not checked */
	void *blocked_arg;
};

#define SIGNAL_COOKIE UINT64_MAX
#define NO_SLOT UINT32_MAX

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
	l->free_slot = l->signal_slot = NO_SLOT;
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
	free(l->timer);
	free(l->slot);
	free(l);
}

uint64_t loop_looked_at(const struct loop *l)
{
	return l->looked_at;
}

static void give_back(struct loop *l, uint32_t i)
{
	l->slot[i].kind = SLOT_FREE;
	l->slot[i].next = l->free_slot;
	l->free_slot = i;
}

/* Doubles the number of slots, so that adding a slot costs the same on average, however many there
 * are. */
static bool grow(struct loop *l)
{
	uint32_t n = l->n_slots ? l->n_slots * 2 : LOOP_FIRST_SLOTS;
	struct slot *s = realloc(l->slot, n * sizeof(*s));

	if (!s) {
		errno = ENOMEM;
		return false;
	}
	memset(s + l->n_slots, 0, (n - l->n_slots) * sizeof(*s));
	l->slot = s;
	for (uint32_t i = n; i-- > l->n_slots;)
		give_back(l, i);
	l->n_slots = n;
	return true;
}

static loop_id claim(struct loop *l, enum slot_kind kind, void *arg)
{
	uint32_t i;

	if (l->free_slot == NO_SLOT && !grow(l))
		return 0;
	i = l->free_slot;
	l->free_slot = l->slot[i].next;
	l->looked_at++;
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

		give_back(l, (uint32_t)id);
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
		/* callers set their events after each turn, and usually the events are the same */
		return;
	s->events = events;
	/* cannot fail, because the descriptor is registered */
	IGNORE(epoll_ctl(l->epoll, EPOLL_CTL_MOD, s->fd, &ev));
}

/* --- the heap of timers ---------------------------------------------------------------------- */

static void heap_put(struct loop *l, uint32_t at, uint32_t slot)
{
	l->timer[at] = slot;
	l->slot[slot].at = at;
	l->looked_at++;
}

static uint64_t heap_deadline(const struct loop *l, uint32_t at)
{
	return l->slot[l->timer[at]].deadline;
}

static void heap_rise(struct loop *l, uint32_t at, uint32_t slot)
{
	while (at > 0 && l->slot[slot].deadline < heap_deadline(l, (at - 1) / 2)) {
		heap_put(l, at, l->timer[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	heap_put(l, at, slot);
}

static void heap_sink(struct loop *l, uint32_t at, uint32_t slot)
{
	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child + 1 < l->n_timers &&
		    heap_deadline(l, child + 1) < heap_deadline(l, child))
			child++;
		if (child >= l->n_timers || heap_deadline(l, child) >= l->slot[slot].deadline)
			break;
		heap_put(l, at, l->timer[child]);
		at = child;
	}
	heap_put(l, at, slot);
}

static bool heap_add(struct loop *l, uint32_t slot)
{
	if (l->n_timers == l->timer_room) {
		uint32_t n = l->timer_room ? l->timer_room * 2 : LOOP_FIRST_SLOTS;
		uint32_t *t = realloc(l->timer, n * sizeof(*t));

		if (!t) {
			errno = ENOMEM;
			return false;
		}
		l->timer = t;
		l->timer_room = n;
	}
	heap_rise(l, l->n_timers++, slot);
	return true;
}

/* The last timer takes the place of the removed timer, and then moves up or down to where it
 * belongs. */
static void heap_remove(struct loop *l, uint32_t slot)
{
	uint32_t at = l->slot[slot].at;
	uint32_t last = l->timer[--l->n_timers];

	if (last == slot)
		return;
	if (l->slot[last].deadline < l->slot[slot].deadline)
		heap_rise(l, at, last);
	else
		heap_sink(l, at, last);
}

/* --- timers and signals ---------------------------------------------------------------------- */

loop_id loop_add_timer(struct loop *l, uint64_t deadline_ns, loop_timer_fn *fn, void *arg)
{
	loop_id id = claim(l, SLOT_TIMER, arg);
	struct slot *s = find(l, id);

	if (!s)
		return 0;
	s->deadline = deadline_ns;
	s->on_timer = fn;
	if (!heap_add(l, (uint32_t)id)) {
		give_back(l, (uint32_t)id);
		l->n_live--;
		return 0;
	}
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
	s->next = l->signal_slot;
	l->signal_slot = (uint32_t)id;
	return id;
}

static void unlist_signal(struct loop *l, uint32_t slot)
{
	uint32_t *link = &l->signal_slot;

	while (*link != slot) {
		link = &l->slot[*link].next;
		l->looked_at++;
	}
	*link = l->slot[slot].next;
}

void loop_remove(struct loop *l, loop_id *id)
{
	struct slot *s = find(l, *id);
	uint32_t slot = (uint32_t)*id;

	*id = 0;
	if (!s)
		return;
	if (s->kind == SLOT_FD) /* the descriptor may be closed already */
		IGNORE(epoll_ctl(l->epoll, EPOLL_CTL_DEL, s->fd, NULL));
	else if (s->kind == SLOT_TIMER)
		heap_remove(l, slot);
	else
		unlist_signal(l, slot);
	give_back(l, slot);
	l->n_live--;
}

void loop_stop(struct loop *l)
{
	l->stop = true;
}

/* --- handlers -------------------------------------------------------------------------------- */

void loop_watch_blocking(struct loop *l, loop_blocked_fn *fn, void *arg)
{
	l->on_blocked = fn;
	l->blocked_arg = arg;
}

static long switches(const struct loop *l)
{
	struct rusage u;

	return l->on_blocked && getrusage(RUSAGE_THREAD, &u) == 0 ? u.ru_nvcsw : 0;
}

/* Called after HANDLER ran. BEFORE is the thread's number of voluntary context switches before
 * HANDLER ran. If the number has changed, HANDLER has blocked. */
static void check_blocking(struct loop *l, long before, const void *handler)
{
	if (l->on_blocked && switches(l) != before)
		l->on_blocked(l->blocked_arg, handler);
}

static void call_signal(struct loop *l, int sig)
{
	for (uint32_t i = l->signal_slot; i != NO_SLOT; i = l->slot[i].next) {
		l->looked_at++;
		if (l->slot[i].fd == sig) {
			loop_signal_fn *fn = l->slot[i].on_signal;
			long before = switches(l);

			fn(l->slot[i].arg, sig);
			check_blocking(l, before, (const void *)fn);
			return; /* the handler may have changed the list */
		}
	}
}

static void deliver_signals(struct loop *l)
{
	struct signalfd_siginfo si;

	while (!l->stop && read(l->signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
		call_signal(l, (int)si.ssi_signo);
}

/* Runs the timers that are due, in the order of their deadlines. Returns milliseconds until the
 * next timer, or -1. A timer is due if its deadline was reached when this call began. If a handler
 * adds a timer that becomes due later, that timer fires in the next call. So timers that are added
 * again and again cannot keep the loop from its descriptors. */
static int run_timers(struct loop *l)
{
	uint64_t now = clock_mono_ns(), left;

	while (l->n_timers && heap_deadline(l, 0) <= now && !l->stop) {
		uint32_t slot = l->timer[0];
		loop_timer_fn *fn = l->slot[slot].on_timer;
		void *arg = l->slot[slot].arg;
		long before = switches(l);

		/* a timer fires once; its slot is freed first, so that a new timer of its handler
		 * can take the slot */
		heap_remove(l, slot);
		give_back(l, slot);
		l->n_live--;
		fn(arg);
		check_blocking(l, before, (const void *)fn);
	}
	if (!l->n_timers)
		return -1;
	now = clock_mono_ns();
	if (heap_deadline(l, 0) <= now)
		return 0;
	/* round up, so that we never wake too early */
	left = (heap_deadline(l, 0) - now + NS_PER_MS - 1) / NS_PER_MS;
	return left > INT32_MAX ? INT32_MAX : (int)left;
}

static void call_fd(struct loop *l, const struct slot *s, uint32_t events)
{
	loop_fd_fn *fn = s->on_fd; /* copied, because slots may move while the handler runs */
	long before = switches(l);

	fn(s->arg, s->fd, events);
	check_blocking(l, before, (const void *)fn);
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
				call_fd(l, s, ev[i].events);
		}
	}
	return 0;
}
