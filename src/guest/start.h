/*
 * The start of one command, and the news of its end.
 *
 * There are two ways, and a caller does not see which one is taken. A launcher that is free gets an order
 * (guest/launcher.h), or pid 1 clones the process itself (guest/exec.h). pid 1 waits for neither: once a process has
 * joined the payload's user namespace, root inside can stop it, and pid 1 would be stopped with it. What becomes of
 * the start arrives through three calls: began at most once, then failed or ended exactly once.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "guest/exec.h"
#include "guest/scope.h"
#include "loop/loop.h"

/* How long pid 1 waits before it looks whether a launcher has begun: long after launchers usually begin, and short for a
 * client that waits until its command closes the input. */
#define START_LOOK_MS 10
/* How long pid 1 waits for news after that. A process without news is stopped, or gets no CPU. */
#define START_PATIENCE_MS 2000

enum start_state {
	START_NEW,       /* nobody was asked yet */
	START_ORDERED,   /* a launcher has the order */
	START_LATE,      /* pid 1 looked once, and the launcher had not begun */
	START_CANCELLED, /* the command shall not begin, but its launcher may have begun it already */
	START_ALONE,     /* the launcher is gone: pid 1 clones the process itself */
	START_BORN,      /* pid 1 cloned the process, which has not executed its program yet */
	START_RUNNING,
	START_FAILED, /* there was never a command */
	START_ENDED,
	START_STATE_COUNT
};

enum start_event {
	START_TAKEN,      /* a launcher took the order */
	START_CLONED,     /* pid 1 has cloned the process … */
	START_AGENT,      /* … which is an agent: it executes nothing */
	START_NOT_CLONED, /* … or could not */
	START_SEEN,       /* the launcher has cloned the process */
	START_NOT_SEEN,   /* the launcher lives, and has not */
	START_STUCK,      /* the launcher is dead, or could not clone */
	START_GONE,       /* the launcher is dead, and will never have cloned it */
	START_EXECUTED,   /* the program runs */
	START_SILENT,     /* START_PATIENCE_MS have passed without news of that */
	START_EXITED,     /* the process ended, and it had executed the program */
	START_UNEXECUTED, /* the process ended, and it had not */
	START_CANCEL,     /* the command shall not begin any more */
	START_EVENT_COUNT
};

enum start_action {
	START_DO_NOTHING,
	START_LOOK_SOON,    /* look after START_LOOK_MS */
	START_LOOK_LATE,    /* look after START_PATIENCE_MS */
	START_END_LAUNCHER, /* kill it; then it is START_SEEN or START_GONE */
	START_CLONE,        /* clone the process here */
	START_TELL_BEGAN,
	START_TELL_FAILED,
	START_TELL_ENDED,
	START_TELL_BOTH,   /* that it began, and that it ended */
	START_TELL_KILLED, /* that it was killed, though it never began */
};

struct start_step {
	enum start_state state;
	enum start_action action;
};

/* The whole machine. An event that means nothing in STATE changes nothing. */
struct start_step start_next(enum start_state state, enum start_event event);

struct start_calls {
	void (*began)(void *arg);
	void (*failed)(void *arg, const struct exec_report *why); /* may free the start */
	void (*ended)(void *arg, int status); /* as of wait(); may free the start */
};

struct start {
	enum start_state state;
	struct loop *loop;
	struct scopes *scopes;
	struct scope *scope; /* of the command; the owner closes it */
	const struct start_calls *calls;
	void *arg;
	struct launcher *launcher; /* that has the order, or NULL */
	pid_t pid;
	int early_signal; /* came before there was a process, or 0 */
	int news;         /* the process writes here why it cannot execute; -1 */
	loop_id news_watch, timer;
	struct exec_report report;
};

void start_init(struct start *s, struct loop *loop, struct scopes *scopes, struct scope *scope,
		const struct start_calls *calls, void *arg);
void start_done(struct start *s);

enum start_flag {
	START_KEEPS_STDIO =
		1 << 0, /* the caller keeps the descriptors of J open until the command began */
	START_CLIENT_STAYS = 1 << 1, /* the client has one command after another */
};
/* Starts J. Returns 0, or -1 if nothing was started: why is in s->report, and none of the calls will come. */
MUST_USE int start_begin(struct start *s, struct exec_job *j, unsigned flags);
/* PID was reaped. True if it was the command, or the launcher of its scope. */
bool start_reaped(struct start *s, pid_t pid, int status);
/* The pid of the command; 0 while it is not known, -1 after the end. */
pid_t start_pid(const struct start *s);
/* Sends SIG to the command, once there is one. */
void start_signal(struct start *s, int sig);
/* If no process was cloned yet, none will be. */
void start_cancel(struct start *s);
/* The program was executed, as far as anyone can know. */
bool start_has_begun(const struct start *s);
