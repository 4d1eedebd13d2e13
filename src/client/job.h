/*
 * A job is one command over a line (client/line.h). The loop moves the command's input and output
 * and reports the command's end. Usually input and output go through pipes. If the command has a
 * terminal (EXEC_TTY), or if the job attached to a running command, they go through frames on the
 * line instead; the owner sees no difference.
 *
 * The owner is told of the end exactly once. If the owner frees the job first, the owner is not
 * told. Callbacks come only from the loop, from line_hear() and from line_free(), never from a
 * function of this file. Any function may be called from any callback, even job_free(): the memory
 * is freed when the last callback has returned.
 *
 * If a command has closed its input, our next write of input raises SIGPIPE. The functions of this
 * file do not change signal actions. So a program that uses jobs with input must ignore SIGPIPE.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "client/line.h"
#include "wire/message.h"

struct job;

enum job_output { JOB_STDOUT, JOB_STDERR };

struct job_end {
	const struct err *err;   /* why the end is unknown; NULL if the member `end` is valid */
	struct exit_message end; /* how the command ended, or why it did not start */
	uint64_t id;             /* the command's number; 0: unknown */
	bool cancelled;          /* job_cancel() was called */
	/* pid 1 did not report the end in time. The job closed the line, and the member `end` says
	 * "timed out". The owner must end the sandbox, because pid 1 hangs, or an attacker controls
	 * it. */
	bool hung;
	/* what the command reported (EXEC_REPORTS), valid only during the call; p is NULL if the
	 * command reported nothing */
	struct str report;
};

struct job_owner {
	/* Called with N bytes of output, which are valid only during the call. If this callback
	 * returns false, it is not called again until job_resume(). */
	bool (*output)(void *arg, enum job_output which, const char *p, size_t n);
	/* Called when there is room for input again, or when no process reads the input any more.
	 * The result of job_input() tells which of the two is true. May be NULL. */
	void (*room)(void *arg);
	/* Called when pid 1 has reported the command's end. Output that is still in the pipes comes
	 * after this call. May be NULL. */
	void (*exited)(void *arg);
	/* Called when the command is over. END is valid only during the call. The owner still
	 * has to free the job. */
	void (*end)(void *arg, const struct job_end *end);
	void *arg;
	/* If true, job_number() is known before the first output. This costs one more wake-up of
	 * the client for each command. */
	bool numbered;
};

/* Starts a command that is neither detached nor in the background. client/ask.h starts background
 * commands. M is needed only during the call. If INPUT is false, the command finds the end of its
 * input at once. Fails with ERR_NOT_RUNNING or ERR_LIMIT. */
MUST_USE int job_start(struct line *n, const struct exec_message *m, bool input,
		       const struct job_owner *o, struct job **ret, struct err *e);
/* Attaches to a background command. From now on the job has the command's output, input and end,
 * and no other client can attach. Only pid 1 knows whether there is such a command. So
 * ERR_NOT_FOUND, ERR_BUSY, ERR_LIMIT and ERR_UNSUPPORTED may also come later, in `job_end.err`. If
 * the line is lost, the command runs on. */
MUST_USE int job_attach(struct line *n, const struct attach_message *m, const struct job_owner *o,
			struct job **ret, struct err *e);
/* Frees the job. If the command still runs, kills it with everything that it started, as
 * job_cancel() does. The owner does not learn the command's end. But if the job only attached to
 * the command, the command runs on, and other clients can attach to it. */
void job_free(struct job *j);

/* Returns the number that pid 1 gave the command, or 0 as long as pid 1 has not told it. */
uint64_t job_number(const struct job *j);
/* Writes up to N bytes to the command's input. Returns how many bytes were taken, or -EPIPE if no
 * process reads the input any more. If the result is less than N, `room` is called when there is
 * room again. */
MUST_USE ssize_t job_input(struct job *j, const void *p, size_t n);
void job_input_end(struct job *j);
/* Lets the callback `output` be called again. Call this when the owner accepts output again. */
void job_resume(struct job *j);
/* Sends a signal to the command itself, or, if SCOPE is true, to everything that the command
 * started. Fails with ERR_UNSUPPORTED if pid 1 is too old. */
MUST_USE int job_signal(struct job *j, int sig, bool scope, struct err *e);
/* Kills everything that the command started. The owner still gets what the pipes hold, and then the
 * end. If pid 1 has already reported the command's end, kills nothing, and the owner gets only the
 * end. A pid 1 that speaks protocol 1 cannot kill a single command. In this case the job closes the
 * line, which ends the other jobs, too. */
void job_cancel(struct job *j);
