/*
 * One command over a line (client/line), on the loop: its pipes, its input, its output, its end. A command at a
 * terminal (EXEC_TTY) has a framed stream instead of pipes; its owner sees no difference.
 *
 * The owner gets the end exactly once, unless it frees the job first. Callbacks come only from the loop, from
 * line_hear() and from line_free(), never from a function of this file. Any function may be called from any callback,
 * even job_free(): the memory is freed when the last callback has returned.
 *
 * Writing to a command that closed its input raises SIGPIPE, and a library does not touch signals: the program that
 * uses jobs with input must ignore SIGPIPE.
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
	const struct err *err;   /* why the end is unknown; NULL if END is valid */
	struct exit_message end; /* how the command ended, or why it did not start */
	uint64_t id;             /* the command's number; 0: unknown */
	bool cancelled;          /* job_cancel() was called */
	/* pid 1 did not report the end in time. The job closed the line, and END says "timed out". The owner must end
	 * the sandbox, because pid 1 hangs or has been taken over. */
	bool hung;
	/* what the command reported (EXEC_REPORTS), borrowed for the call; p is NULL if it
	 * reported nothing */
	struct str report;
};

struct job_owner {
	/* Called with N bytes of output, borrowed for the call. If the function returns false, no more output comes
	 * until job_resume(). */
	bool (*output)(void *arg, enum job_output which, const char *p, size_t n);
	/* Called when there is room for input again, or when no process reads the input any more. The result of
	 * job_input() tells which. May be NULL. */
	void (*room)(void *arg);
	/* Called when pid 1 has reported the end. The output that is still in the pipes comes after this. May be
	 * NULL. */
	void (*exited)(void *arg);
	/* Called when the command is over. END is borrowed for the call; the owner still has to free the job. */
	void (*end)(void *arg, const struct job_end *end);
	void *arg;
};

/* Starts a command that is neither detached nor in the background; client/ask starts those. M is borrowed for the
 * call. Without INPUT the command finds the end of its input at once. Fails with ERR_NOT_RUNNING or ERR_LIMIT. */
MUST_USE int job_start(struct line *n, const struct exec_message *m, bool input,
		       const struct job_owner *o, struct job **ret, struct err *e);
/* Attaches to a background command. From now on the job has the command's output, input and end, and no other client
 * can attach. Only pid 1 knows whether there is such a command: ERR_NOT_FOUND, ERR_BUSY, ERR_LIMIT and ERR_UNSUPPORTED
 * may also come as the end. If the line is lost, the command runs on. */
MUST_USE int job_attach(struct line *n, const struct attach_message *m, const struct job_owner *o,
			struct job **ret, struct err *e);
/* Frees the job. If the command still runs, it is killed with everything that it started, as by job_cancel(), and the
 * owner does not learn its end. A command that the job attached to runs on, and other clients can attach. */
void job_free(struct job *j);

/* Returns the number that pid 1 gave the command, or 0 as long as pid 1 has not told it. */
uint64_t job_number(const struct job *j);
/* Returns how many bytes were taken, or -EPIPE if no process reads them any more. If the result is less than N,
 * `room` is called when there is room again. */
MUST_USE ssize_t job_input(struct job *j, const void *p, size_t n);
void job_input_end(struct job *j);
/* Sets the size of the command's terminal, if it has one. */
void job_resize(struct job *j, uint32_t rows, uint32_t cols);
/* Call this when the owner accepts output again. */
void job_resume(struct job *j);
/* Sends a signal to the command itself, or to everything that it started. ERR_UNSUPPORTED: pid 1 is too old. */
MUST_USE int job_signal(struct job *j, int sig, bool scope, struct err *e);
/* Kills everything that the command started. The owner still gets what the pipes hold, and then the end. A pid 1 of
 * protocol 1 cannot kill one command, so the job closes the line, which ends the other jobs too. */
void job_cancel(struct job *j);
