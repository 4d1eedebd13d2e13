/*
 * How pid 1 learns whether the process of a command has executed its program: If pid 1 cloned the
 * process, the process reports through a pipe. The exec closes the pipe, so end of file means that
 * the program runs. If the exec fails, a struct exec_report comes through the pipe. A launcher
 * reports nothing, because a report would wake pid 1 just when the command begins. pid 1 looks at
 * the launcher's order when a timer ends or a child has ended.
 *
 * In both cases, pid 1 tells the owner of a failed exec only after pid 1 has reaped the process.
 */
#include "guest/start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* clang-format off */
static const struct start_step table[START_STATE_COUNT][START_EVENT_COUNT] = {
	[START_NEW] = {
		[START_TAKEN]      = { START_ORDERED,   START_LOOK_SOON },
		[START_CLONED]     = { START_BORN,      START_LOOK_LATE },
		[START_AGENT]      = { START_RUNNING,   START_DO_NOTHING },
		[START_NOT_CLONED] = { START_FAILED,    START_DO_NOTHING },
	},
	[START_ORDERED] = {
		[START_SEEN]       = { START_RUNNING,   START_TELL_BEGAN },
		[START_NOT_SEEN]   = { START_LATE,      START_LOOK_LATE },
		[START_STUCK]      = { START_LATE,      START_END_LAUNCHER },
		[START_GONE]       = { START_ALONE,     START_CLONE },
		[START_EXITED]     = { START_ENDED,     START_TELL_ENDED },
		[START_UNEXECUTED] = { START_FAILED,    START_TELL_FAILED },
		[START_CANCEL]     = { START_CANCELLED, START_DO_NOTHING },
	},
	[START_LATE] = {
		[START_SEEN]       = { START_RUNNING,   START_TELL_BEGAN },
		[START_NOT_SEEN]   = { START_LATE,      START_END_LAUNCHER },
		[START_STUCK]      = { START_LATE,      START_END_LAUNCHER },
		[START_GONE]       = { START_ALONE,     START_CLONE },
		[START_EXITED]     = { START_ENDED,     START_TELL_ENDED },
		[START_UNEXECUTED] = { START_FAILED,    START_TELL_FAILED },
		[START_CANCEL]     = { START_CANCELLED, START_DO_NOTHING },
	},
	[START_CANCELLED] = {
		[START_SEEN]       = { START_RUNNING,   START_TELL_BEGAN },
		[START_NOT_SEEN]   = { START_CANCELLED, START_END_LAUNCHER },
		[START_STUCK]      = { START_CANCELLED, START_END_LAUNCHER },
		[START_GONE]       = { START_ENDED,     START_TELL_ENDED },
		[START_EXITED]     = { START_ENDED,     START_TELL_ENDED },
		[START_UNEXECUTED] = { START_FAILED,    START_TELL_FAILED },
	},
	[START_ALONE] = {
		[START_CLONED]     = { START_BORN,      START_LOOK_LATE },
		[START_NOT_CLONED] = { START_FAILED,    START_TELL_FAILED },
	},
	[START_BORN] = {
		[START_EXECUTED]   = { START_RUNNING,   START_TELL_BEGAN },
		[START_SILENT]     = { START_RUNNING,   START_TELL_BEGAN },
		[START_EXITED]     = { START_ENDED,     START_TELL_BOTH },
		[START_UNEXECUTED] = { START_FAILED,    START_TELL_FAILED },
	},
	[START_RUNNING] = {
		[START_EXITED]     = { START_ENDED,     START_TELL_ENDED },
		[START_UNEXECUTED] = { START_FAILED,    START_TELL_FAILED },
	},
};
/* clang-format on */

struct start_step start_next(enum start_state state, enum start_event event)
{
	struct start_step next = table[state][event];

	/* no step leads back to START_NEW, so an entry of the table with this state is empty */
	return next.state == START_NEW ? (struct start_step){ state, START_DO_NOTHING } : next;
}

static void step(struct start *s, enum start_event event, int status);

/* --- a process that pid 1 clones ------------------------------------------------------------- */

static void close_news(struct start *s)
{
	loop_remove(s->loop, &s->news_watch);
	fd_closep(&s->news);
}

/* Reads the pipe. Returns true if nothing more will come. */
static bool take_news(struct start *s)
{
	ssize_t n = s->news < 0 ? 0 : read(s->news, &s->report, sizeof(s->report));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	close_news(s);
	return true;
}

static void on_news(void *arg, int fd, uint32_t events)
{
	struct start *s = arg;

	if (take_news(s) && !s->report.failure)
		step(s, START_EXECUTED, 0);
}

static int fail(struct start *s, const struct exec_report *why)
{
	s->report = *why;
	step(s, START_NOT_CLONED, 0);
	return -1;
}

static int clone_here(struct start *s, struct exec_args *a)
{
	int news[2] = { -1, -1 };

	if (!a->agent && pipe2(news, O_CLOEXEC | O_NONBLOCK) < 0)
		return fail(s, &(struct exec_report){ EXEC_RESOURCE, errno });
	a->report_fd = news[1];
	s->pid = scope_start(s->scopes, s->scope, a);
	fd_closep(&news[1]);
	if (s->pid < 0) {
		fd_closep(&news[0]);
		return fail(s, &a->report);
	}
	s->news = news[0];
	if (s->news >= 0)
		s->news_watch = loop_add_fd(s->loop, s->news, LOOP_READ, on_news, s);
	step(s, a->agent ? START_AGENT : START_CLONED, 0);
	return 0;
}

/* --- a process that a launcher clones -------------------------------------------------------- */

static void look(struct start *s)
{
	step(s,
	     launcher_command(s->launcher)     ? START_SEEN
	     : launcher_may_begin(s->launcher) ? START_NOT_SEEN
					       : START_STUCK,
	     0);
}

/* Called when the launcher is dead. A cancelled command that the launcher never cloned counts as
 * killed. */
static void look_at_dead_launcher(struct start *s)
{
	step(s, launcher_command(s->launcher) ? START_SEEN : START_GONE, SIGKILL);
}

/* Kills the launcher. pid 1 does not wait for its death; start_reaped() goes on when it is
 * reaped. */
static void end_launcher(struct start *s)
{
	launcher_kill(s->launcher);
	if (launcher_pid(s->launcher) < 0) /* the launcher was reaped before it got the order */
		look_at_dead_launcher(s);
}

/* Clones the process from the launcher's order, which holds the arguments with everything that they
 * point to. */
static void clone_ordered(struct start *s)
{
	struct launcher *l = scope_release_launcher(s->scopes, s->scope);

	s->launcher = NULL;
	IGNORE(clone_here(s, launcher_args(l))); /* if it fails, clone_here() tells the owner */
	launcher_free(l);
}

/* --- steps ----------------------------------------------------------------------------------- */

static void on_timer(void *arg)
{
	struct start *s = arg;

	s->timer = 0;
	if (s->launcher)
		look(s);
	else
		step(s, START_SILENT, 0);
}

static void ring_after(struct start *s, uint64_t ms)
{
	loop_remove(s->loop, &s->timer);
	s->timer = loop_add_timer(s->loop, clock_mono_ns() + ms * NS_PER_MS, on_timer, s);
}

static void tell_began(struct start *s)
{
	if (s->launcher)
		s->pid = launcher_command(s->launcher);
	if (s->early_signal)
		kill(s->pid, s->early_signal);
	s->early_signal = 0;
	loop_remove(s->loop, &s->timer);
	s->calls->began(s->arg);
}

static void tell_ended(struct start *s, int status)
{
	loop_remove(s->loop, &s->timer);
	s->calls->ended(s->arg, status);
}

/* Enters the next state and does its action. STATUS, the result of wait(), is only used to tell the
 * owner that the command has ended. The owner may free S when it is told that the command has ended
 * or failed. So this function does not use S after these calls. */
static void step(struct start *s, enum start_event event, int status)
{
	struct start_step next = start_next(s->state, event);

	s->state = next.state;
	switch (next.action) {
	case START_DO_NOTHING:
		return;
	case START_LOOK_SOON:
		ring_after(s, START_LOOK_MS);
		return;
	case START_LOOK_LATE:
		ring_after(s, START_PATIENCE_MS);
		return;
	case START_END_LAUNCHER:
		end_launcher(s);
		return;
	case START_CLONE:
		clone_ordered(s);
		return;
	case START_TELL_BEGAN:
		tell_began(s);
		return;
	case START_TELL_FAILED:
		s->calls->failed(s->arg, &s->report);
		return;
	case START_TELL_BOTH:
		s->calls->began(s->arg);
		tell_ended(s, status);
		return;
	case START_TELL_ENDED:
		tell_ended(s, status);
		return;
	}
}

/* --- what the owner calls -------------------------------------------------------------------- */

void start_init(struct start *s, struct loop *loop, struct scopes *scopes, struct scope *scope,
		const struct start_calls *calls, void *arg)
{
	*s = (struct start){ .loop = loop,
			     .scopes = scopes,
			     .scope = scope,
			     .calls = calls,
			     .arg = arg,
			     .news = -1 };
}

void start_done(struct start *s)
{
	loop_remove(s->loop, &s->timer);
	close_news(s);
}

int start_begin(struct start *s, struct exec_args *a, unsigned flags)
{
	*s->scope = SCOPE_NONE;
	if (!(flags & START_KEEPS_STDIO) ||
	    !scope_order(s->scopes, s->scope, a, flags & START_CLIENT_STAYS))
		return clone_here(s, a);
	s->launcher = s->scope->launcher;
	step(s, START_TAKEN, 0);
	return 0;
}

bool start_reaped(struct start *s, pid_t pid, int status)
{
	struct launcher *l = s->scope->launcher;

	if (pid == start_pid(s)) {
		if (s->launcher)
			s->report = launcher_args(s->launcher)->report;
		take_news(s);
		step(s, s->report.failure ? START_UNEXECUTED : START_EXITED, status);
		return true;
	}
	if (!l || launcher_pid(l) != pid)
		return false;
	launcher_reaped(l, pid);
	/* if s->launcher is NULL, L has got no order from S, so its death does not matter here */
	if (s->launcher)
		look_at_dead_launcher(s);
	return true;
}

pid_t start_pid(const struct start *s)
{
	if (s->state == START_FAILED || s->state == START_ENDED)
		return -1;
	return s->launcher ? launcher_command(s->launcher) : s->pid;
}

void start_signal(struct start *s, int sig)
{
	pid_t pid = start_pid(s);

	if (pid > 0)
		kill(pid, sig);
	else if (pid == 0)
		s->early_signal = sig;
}

void start_cancel(struct start *s)
{
	step(s, START_CANCEL, 0);
}

bool start_has_begun(const struct start *s)
{
	return s->state == START_RUNNING || s->state == START_ENDED;
}

bool start_may_have_begun(const struct start *s)
{
	return start_has_begun(s) || (s->launcher && start_pid(s) > 0);
}
