#include "loop/loop.h"

#include <signal.h>
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

/* Both descriptors are ready in one turn; the first callback removes both: no stale event. */
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
	begun = clock_mono_ns(); /* however late this runs, the order is that of the deadlines */
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

int main(void)
{
	T_RUN(stale_events_are_dropped);
	T_RUN(timers_fire_in_order_of_deadline);
	T_RUN(signals_arrive_as_events);
	return t_end();
}
