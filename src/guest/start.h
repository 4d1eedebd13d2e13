/*
 * Starts one command, and tells the owner of the start when the command begins and ends.
 *
 * There are two ways to start a command. A free launcher gets an order (guest/launcher.h), or pid 1
 * clones the process itself (guest/exec.h). The owner of a start does not see the difference. pid 1
 * waits neither for the launcher nor for the process, because root in the sandbox can stop any
 * process in the payload's user namespace. The owner learns the result through struct start_calls:
 * `began` is called at most once, then `failed` or `ended` exactly once.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "guest/exec.h"
#include "guest/scope.h"
#include "loop/loop.h"

/* After this time pid 1 looks whether the launcher has cloned the process. A launcher usually needs
 * far less time. Until then pid 1 keeps its own copy of the command's input open. So if the command
 * closes its input, the client may learn this up to START_LOOK_MS later. */
#define START_LOOK_MS 10
/* If a launcher or a process needs longer than this, another process has stopped it, or it gets no
 * CPU time. pid 1 then stops waiting. */
#define START_PATIENCE_MS 2000

enum start_state {
	START_NEW,     /* nothing was done yet */
	START_ORDERED, /* a launcher has the order */
	START_LATE,    /* pid 1 looked once, and the launcher had not cloned the process */
	/* the command was cancelled, but the launcher may have cloned its process already */
	START_CANCELLED,
	START_ALONE, /* the launcher is gone, so pid 1 clones the process itself */
	START_BORN,  /* pid 1 cloned the process, which has not executed its program yet */
	START_RUNNING,
	START_FAILED, /* the program never ran */
	START_ENDED,
	START_STATE_COUNT
};

enum start_event {
	START_TAKEN,      /* a launcher took the order */
	START_CLONED,     /* pid 1 has cloned the process */
	START_AGENT,      /* pid 1 has cloned an agent, which executes no program */
	START_NOT_CLONED, /* pid 1 could not clone */
	START_SEEN,       /* the launcher has cloned the process */
	START_NOT_SEEN,   /* the launcher is alive, and has not cloned yet */
	START_STUCK,      /* the launcher is dead, or could not clone */
	START_GONE,       /* the launcher was reaped, and had not cloned */
	START_EXECUTED,   /* the program runs */
	START_SILENT,     /* pid 1 did not hear of the exec within START_PATIENCE_MS */
	START_EXITED,     /* the process has ended */
	START_UNEXECUTED, /* the process has ended, and could not execute the program */
	START_CANCEL,     /* the command shall not begin any more */
	START_EVENT_COUNT
};

enum start_action {
	START_DO_NOTHING,
	START_LOOK_SOON, /* look after START_LOOK_MS */
	START_LOOK_LATE, /* look after START_PATIENCE_MS */
	/* kill the launcher; when it is reaped, START_SEEN or START_GONE follows */
	START_END_LAUNCHER,
	START_CLONE, /* pid 1 clones the process */
	START_TELL_BEGAN,
	START_TELL_FAILED,
	START_TELL_ENDED,
	START_TELL_BOTH, /* first TELL_BEGAN, then TELL_ENDED */
};

struct start_step {
	enum start_state state;
	enum start_action action;
};

/* The whole state machine: returns what to do when EVENT happens in STATE. If EVENT has no
 * meaning in STATE, nothing changes. */
struct start_step start_next(enum start_state state, enum start_event event);

struct start_calls {
	void (*began)(void *arg);
	void (*failed)(void *arg, const struct exec_report *why); /* may free the start */
	void (*ended)(void *arg, int status); /* a status of wait(); may free the start */
};

struct start {
	enum start_state state;
	struct loop *loop;
	struct scopes *scopes;
	struct scope *scope; /* the command's scope; the owner closes it */
	const struct start_calls *calls;
	void *arg;
	struct launcher *launcher; /* the launcher that has the order, or NULL */
	pid_t pid;
	int early_signal; /* a signal for the command that came before there was a process, or 0 */
	int news;         /* the pipe on which a process cloned by pid 1 reports its exec, or -1 */
	loop_id news_watch, timer;
	struct exec_report report;
};

void start_init(struct start *s, struct loop *loop, struct scopes *scopes, struct scope *scope,
		const struct start_calls *calls, void *arg);
void start_done(struct start *s);

enum start_flag {
	/* the caller of start_begin() keeps the descriptors of A open until the command began */
	START_KEEPS_STDIO = 1 << 0,
	/* the client sends one command after another; see CLIENT_IS_KEPT of scope_order() */
	START_CLIENT_STAYS = 1 << 1,
};
/* Starts the command of A. Returns 0, or -1 if nothing was started. In this case s->report says
 * why, and no function of start_calls is called. */
MUST_USE int start_begin(struct start *s, struct exec_args *a, unsigned flags);
/* Call this after pid 1 has reaped PID; STATUS is the result of wait(). Returns true if PID was the
 * command or the launcher of its scope. In this case the owner may have freed S. */
bool start_reaped(struct start *s, pid_t pid, int status);
/* Returns the pid of the command; 0 while the pid is not known, -1 after the end. */
pid_t start_pid(const struct start *s);
/* Sends SIG to the command. If there is no process yet, keeps SIG and sends it later. */
void start_signal(struct start *s, int sig);
/* Cancels the command if it has no process yet. */
void start_cancel(struct start *s);
/* Returns true while the command runs and after its end, and false if it has not begun. */
bool start_has_begun(const struct start *s);
/* Also returns true if a launcher has cloned the command's process and pid 1 has not noticed this
 * yet. The program of such a process may run already. */
bool start_may_have_begun(const struct start *s);
