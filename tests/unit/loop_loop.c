#include "loop/loop.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "t.h"

struct pair {
	struct loop *l;
	loop_id a, b;
	int calls;
};

static void remove_other(void *arg, int fd, uint32_t events)
{
	struct pair *p = arg;

	p->calls++;
	loop_remove(p->l, &p->a);
	loop_remove(p->l, &p->b);
}

/* Both descriptors are ready in one turn. The first callback removes both, so the second must
 * not run. */
static void stale_events_are_dropped(void)
{
	struct pair p = { 0 };
	int x[2], y[2];

	T_INT(loop_new(&p.l), 0);
	T_INT(pipe(x), 0);
	T_INT(pipe(y), 0);
	T_INT(write(x[1], "x", 1), 1);
	T_INT(write(y[1], "y", 1), 1);
	p.a = loop_add_fd(p.l, x[0], LOOP_READ, remove_other, &p);
	p.b = loop_add_fd(p.l, y[0], LOOP_READ, remove_other, &p);
	T_INT(loop_run(p.l), 0);
	T_INT(p.calls, 1);
	loop_free(p.l);
}

static char order[8];
static void note_a(void *arg)
{
	strncat(order, "a", 7 - strlen(order));
}
static void note_b(void *arg)
{
	strncat(order, "b", 7 - strlen(order));
}
static uint64_t begun;
static void rearm(void *arg)
{
	strncat(order, "r", 7 - strlen(order));
	loop_add_timer(arg, begun + 2 * NS_PER_MS, note_b, NULL);
}

static void timers_fire_in_order_of_deadline(void)
{
	struct loop *l;
	loop_id gone;

	T_INT(loop_new(&l), 0);
	/* even if all deadlines have passed, timers fire in the order of their deadlines */
	begun = clock_mono_ns();
	loop_add_timer(l, begun + 5 * NS_PER_MS, note_a, NULL);
	loop_add_timer(l, begun + NS_PER_MS, rearm, l);
	gone = loop_add_timer(l, begun + 2 * NS_PER_MS, note_a, NULL);
	loop_remove(l, &gone);
	T_INT(loop_run(l), 0);
	T_STR(order, "rba");
	loop_free(l);
}

static int got;
static void on_sig(void *arg, int sig)
{
	got = sig;
	loop_stop(arg);
}

static void signals_arrive_as_events(void)
{
	struct loop *l;

	T_INT(loop_new(&l), 0);
	T_TRUE(loop_add_signal(l, SIGUSR1, on_sig, l) != 0);
	raise(SIGUSR1);
	T_INT(loop_run(l), 0);
	T_INT(got, SIGUSR1);
	loop_free(l);
}

static void count(void *arg)
{
	++*(int *)arg;
}

static void never(void *arg, int fd, uint32_t events)
{
	T_FAIL("an idle descriptor was reported");
}

/* Adds and removes timers and descriptors a hundred times, while N other timers and descriptors are
 * idle. Returns how many slots the loop visits each time. */
static uint64_t work_beside(unsigned n)
{
	enum { ROUNDS = 100 };
	uint64_t begin, soon = clock_mono_ns();
	struct loop *l;
	int fired = 0, idle[2], *copy = calloc(n + 1, sizeof(*copy));

	T_INT(loop_new(&l), 0);
	T_INT(pipe(idle), 0);
	for (unsigned i = 0; i < n; i++) {
		copy[i] = dup(idle[0]); /* the read end of a pipe without data */
		T_TRUE(loop_add_fd(l, copy[i], LOOP_READ, never, NULL) != 0);
		/* later than the timers below, in an order that the heap has to sort */
		T_TRUE(loop_add_timer(l, soon + (3600 + (i * 7919) % 1000) * NS_PER_SEC, count,
				      &fired) != 0);
	}
	T_TRUE(loop_add_signal(l, SIGUSR2, on_sig, l) != 0);
	begin = loop_looked_at(l);
	for (unsigned i = 0; i < ROUNDS; i++) {
		loop_id fd = loop_add_fd(l, idle[0], LOOP_READ, never, NULL);
		loop_id gone = loop_add_timer(l, soon + 3500 * NS_PER_SEC, count, &fired);

		T_TRUE(fd != 0 && gone != 0);
		loop_remove(l, &fd);
		loop_remove(l, &gone);
		T_TRUE(loop_add_timer(l, soon, count, &fired) != 0);
		raise(SIGUSR2); /* makes loop_run() return */
		T_INT(loop_run(l), 0);
	}
	T_INT(fired, ROUNDS);
	begin = loop_looked_at(l) - begin;
	loop_free(l);
	for (unsigned i = 0; i < n; i++)
		close(copy[i]);
	close(idle[0]);
	close(idle[1]);
	free(copy);
	return begin / ROUNDS;
}

static void work_does_not_grow_with_idle_entries(void)
{
	uint64_t few = work_beside(8), many = work_beside(800);

	printf("# slots looked at per round: %d beside 8 idle, %d beside 800\n", (int)few,
	       (int)many);
	/* with 100 times as many timers, each of the four heap operations visits at most seven more
	 * levels */
	T_TRUE(many <= few + 4 * 7);
}

/* When timers are removed from the middle of the heap, all other timers must still fire. */
static void timers_survive_removals(void)
{
	enum { N = 257 };
	uint64_t now = clock_mono_ns();
	loop_id id[N];
	struct loop *l;
	int fired = 0;

	T_INT(loop_new(&l), 0);
	for (unsigned i = 0; i < N; i++)
		id[i] = loop_add_timer(l, now - (i * 7919) % N, count, &fired);
	for (unsigned i = 0; i < N; i += 2)
		loop_remove(l, &id[i]);
	T_INT(loop_run(l), 0);
	T_INT(fired, N / 2);
	loop_free(l);
}

/* --- handlers that block --------------------------------------------------------------------- */

static const void *blocked[4];
static unsigned n_blocked;

static void note_blocked(void *arg, const void *handler)
{
	if (n_blocked < 4)
		blocked[n_blocked++] = handler;
}

static void nap(void *arg)
{
	usleep(1000);
}

static void nap_on_fd(void *arg, int fd, uint32_t events)
{
	usleep(1000);
	loop_stop(arg);
}

static void nap_on_signal(void *arg, int sig)
{
	usleep(1000);
	loop_stop(arg);
}

static void work(void *arg)
{
	for (volatile unsigned i = 0; i < 100000; i++)
		;
}

static void handlers_that_block_are_told(void)
{
	struct loop *l;
	loop_id id;
	int p[2];

	T_INT(loop_new(&l), 0);
	T_INT(pipe(p), 0);
	T_INT(write(p[1], "x", 1), 1);
	/* loop_watch_blocking() was not called yet, so nobody is told that nap() blocks */
	loop_add_timer(l, 0, nap, NULL);
	T_INT(loop_run(l), 0);
	T_INT(n_blocked, 0);
	loop_watch_blocking(l, note_blocked, NULL);
	loop_add_timer(l, 0, work, NULL);
	loop_add_timer(l, 1, nap, NULL);
	T_INT(loop_run(l), 0);
	id = loop_add_fd(l, p[0], LOOP_READ, nap_on_fd, l);
	T_INT(loop_run(l), 0);
	loop_remove(l, &id);
	id = loop_add_signal(l, SIGUSR1, nap_on_signal, l);
	raise(SIGUSR1);
	T_INT(loop_run(l), 0);
	T_INT(n_blocked, 3);
	T_TRUE(blocked[0] == (const void *)nap);
	T_TRUE(blocked[1] == (const void *)nap_on_fd);
	T_TRUE(blocked[2] == (const void *)nap_on_signal);
	loop_watch_blocking(l, NULL, NULL);
	loop_add_timer(l, 0, nap, NULL);
	loop_remove(l, &id);
	T_INT(loop_run(l), 0);
	T_INT(n_blocked, 3);
	loop_free(l);
	close(p[0]);
	close(p[1]);
}

int main(void)
{
	T_RUN(stale_events_are_dropped);
	T_RUN(timers_fire_in_order_of_deadline);
	T_RUN(signals_arrive_as_events);
	T_RUN(timers_survive_removals);
	T_RUN(work_does_not_grow_with_idle_entries);
	T_RUN(handlers_that_block_are_told);
	return t_end();
}
