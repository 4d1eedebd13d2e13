#include "endpoint/reconnect.h"

#include "t.h"

#define SEC 1000000000ull
#define BEGIN (100 * SEC)

/* Waits on the fake clock, lets the attempt fail, and returns the delay in seconds. */
static uint64_t fail_once(struct reconnect *r, uint64_t *now, bool *ret_more)
{
	uint64_t delay = r->at_ns - *now;

	T_TRUE(!reconnect_try(r, r->at_ns - 1));
	*now = r->at_ns;
	T_TRUE(reconnect_try(r, *now));
	T_INT(r->state, RECONNECT_TRYING);
	*ret_more = reconnect_failed(r, *now);
	return delay / SEC;
}

static void delays_double_up_to_a_minute(void)
{
	static const uint64_t want[] = { 3, 6, 12, 24, 48, 60, 60, 60 };
	uint64_t now = BEGIN;
	struct reconnect r;
	bool more;

	reconnect_init(&r, 3 * SEC, RECONNECT_FOR_EVER);
	T_INT(r.state, RECONNECT_UP);
	T_TRUE(reconnect_lost(&r, now));
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		T_INT(fail_once(&r, &now, &more), want[i]);
		T_TRUE(more);
	}
}

static void a_success_begins_anew(void)
{
	uint64_t now = BEGIN;
	struct reconnect r;
	bool more;

	reconnect_init(&r, 3 * SEC, RECONNECT_FOR_EVER);
	T_TRUE(reconnect_lost(&r, now));
	fail_once(&r, &now, &more);
	fail_once(&r, &now, &more);
	now = r.at_ns;
	T_TRUE(reconnect_try(&r, now));
	reconnect_succeeded(&r);
	T_INT(r.state, RECONNECT_UP);
	now += 1000 * SEC;
	T_TRUE(reconnect_lost(&r, now));
	T_INT(fail_once(&r, &now, &more), 3);
}

static void one_loop_runs_at_a_time(void)
{
	uint64_t at;
	struct reconnect r;

	reconnect_init(&r, 3 * SEC, RECONNECT_FOR_EVER);
	T_TRUE(reconnect_lost(&r, BEGIN));
	at = r.at_ns;
	T_TRUE(!reconnect_lost(&r, BEGIN + SEC));
	T_INT(r.at_ns, at);
	T_TRUE(reconnect_try(&r, at));
	T_TRUE(!reconnect_lost(&r, at));
	T_TRUE(!reconnect_try(&r, at));
	T_INT(r.state, RECONNECT_TRYING);
}

static void attempts_stay_within_the_time(void)
{
	uint64_t now = BEGIN, attempts = 1;
	struct reconnect r;
	bool more = true;

	/* attempts come 3, 9 and 21 seconds after the loss; an attempt after 45 seconds would be
	 * too late */
	reconnect_init(&r, 3 * SEC, BEGIN + 30 * SEC);
	T_TRUE(reconnect_lost(&r, now));
	for (; more; attempts++)
		fail_once(&r, &now, &more);
	T_INT(attempts, 4);
	T_INT((now - BEGIN) / SEC, 21);
	T_INT(r.state, RECONNECT_OVER);
	T_TRUE(!reconnect_lost(&r, now));

	reconnect_init(&r, 3 * SEC, BEGIN + 3 * SEC);
	T_TRUE(reconnect_lost(&r, BEGIN));
	reconnect_init(&r, 3 * SEC, BEGIN + 3 * SEC);
	T_TRUE(!reconnect_lost(&r, BEGIN + 1));
	T_INT(r.state, RECONNECT_OVER);
	reconnect_init(&r, 3 * SEC, BEGIN);
	T_TRUE(!reconnect_lost(&r, BEGIN + 9 * SEC));
}

static void nothing_begins_after_the_end(void)
{
	struct reconnect r;

	reconnect_init(&r, 3 * SEC, RECONNECT_FOR_EVER);
	reconnect_end(&r); /* disabled: never connected */
	T_TRUE(!reconnect_lost(&r, BEGIN));

	reconnect_init(&r, 3 * SEC, RECONNECT_FOR_EVER);
	T_TRUE(reconnect_lost(&r, BEGIN));
	reconnect_end(&r); /* shut down while the loop waits */
	T_TRUE(!reconnect_try(&r, BEGIN + 10 * SEC));

	reconnect_init(&r, 3 * SEC, RECONNECT_FOR_EVER);
	T_TRUE(reconnect_lost(&r, BEGIN) && reconnect_try(&r, BEGIN + 3 * SEC));
	reconnect_end(&r); /* shut down during an attempt */
	reconnect_succeeded(&r);
	T_INT(r.state, RECONNECT_OVER);
	T_TRUE(!reconnect_failed(&r, BEGIN + 3 * SEC));
}

int main(void)
{
	T_RUN(delays_double_up_to_a_minute);
	T_RUN(a_success_begins_anew);
	T_RUN(one_loop_runs_at_a_time);
	T_RUN(attempts_stay_within_the_time);
	T_RUN(nothing_begins_after_the_end);
	return t_end();
}
