/*
 * Sends signals to a command, and kills everything that the command started.
 *
 * pid 1 kills a scope (guest/scope.h) in passes. Between two passes the loop handles other events,
 * so that other clients do not wait.
 */
#include "guest/session.h"

#include <signal.h>

#include "base/clock.h"

static void kill_pass(void *arg)
{
	struct session *s = arg;

	s->kill_timer = 0;
	switch (scope_kill(&s->guest->scopes, &s->scope)) {
	case SCOPE_AGAIN:
		s->kill_timer = loop_add_timer(s->guest->loop, clock_mono_ns(), kill_pass, s);
		return;
	case SCOPE_SWEPT:
		for (struct session *o = s->guest->sessions; o; o = o->next)
			o->swept = true;
		sessions_cancel(s->guest);
		break;
	case SCOPE_DONE:
		break;
	}
	if (s->emptying)
		session_conclude(s); /* may free S */
	else
		session_release(s);
}

void session_kill(struct session *s)
{
	pid_t pid = start_pid(&s->start);

	if (pid > 0)
		kill(pid, SIGKILL);
	start_cancel(&s->start);
	if (!s->kill_timer)
		kill_pass(s);
}

void sessions_cancel(struct guest *g)
{
	for (struct session *s = g->sessions; s; s = s->next)
		start_cancel(&s->start);
}

void sessions_end(struct guest *g, enum end_reason why)
{
	for (struct session *s = g->sessions; s; s = s->next)
		if (!s->ended)
			s->end.ended = why;
	if (why == END_DURATION || why == END_IDLE)
		return; /* the frame SHUTDOWN comes next and gives the commands time to end */
	sessions_cancel(g);
	scopes_kill(&g->scopes);
}

void session_signal(struct session *s, uint64_t sig, bool scope)
{
	if (s->ended || sig == 0 || sig > (uint64_t)SIGRTMAX)
		return;
	if (scope && sig == SIGKILL)
		session_kill(s);
	else if (scope && start_pid(&s->start) > 0)
		scope_signal(&s->scope, (int)sig);
	else
		start_signal(&s->start, (int)sig);
}

static void on_timeout(void *arg)
{
	struct session *s = arg;

	s->timer = 0;
	s->timed_out = true;
	session_kill(s);
}

void session_kill_after(struct session *s, uint64_t ms)
{
	s->timer = loop_add_timer(s->guest->loop, clock_mono_ns() + ms * NS_PER_MS, on_timeout, s);
}
