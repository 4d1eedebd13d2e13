/*
 * One question about the background commands of a sandbox. The question goes over a line
 * (client/line.h), and the loop calls the owner with the answer. A question can start a command,
 * list all commands, or look at, feed or signal one command. While a job (client/job.h) is attached
 * to a command, no other client can attach to it. A question does not attach, so other clients can
 * still attach.
 *
 * The owner gets the answer exactly once. If the owner frees the question first, the owner gets no
 * answer. Callbacks come only from the loop, from line_hear() and from line_free(), never from an
 * ask_*() function. Any function may be called from any callback, even ask_free(): the memory is
 * freed when the last callback has returned.
 */
#pragma once

#include "base/err.h"
#include "client/line.h"
#include "wire/background.h"

struct ask;

struct answer {
	/* why there is no answer: ERR_NOT_FOUND, ERR_BUSY, ERR_LIMIT, ERR_UNSUPPORTED,
	 * ERR_NOT_RUNNING …; or NULL */
	const struct err *err;
	/* only after ask_start(): the number of the command, or 0 if it could not be started */
	uint64_t id;
	struct exit_message end; /* if ID is 0: why the command could not be started */
};

struct ask_owner {
	/* Called for each command of a list, or for the one command that the question looks at,
	 * feeds or signals. Not called for ask_start(). M is valid only during the call. May be
	 * NULL. */
	void (*command)(void *arg, const struct command_message *m);
	/* Called when the answer is complete. A is valid only during the call. The owner still
	 * has to free the question. */
	void (*done)(void *arg, const struct answer *a);
	void *arg;
};

/* Starts a background command: EXEC_BACKGROUND is added to M's flags. */
MUST_USE int ask_start(struct line *n, const struct exec_message *m, const struct ask_owner *o,
		       struct ask **ret, struct err *e);
MUST_USE int ask_list(struct line *n, const struct ask_owner *o, struct ask **ret, struct err *e);
MUST_USE int ask_look(struct line *n, const struct look_message *m, const struct ask_owner *o,
		      struct ask **ret, struct err *e);
MUST_USE int ask_feed(struct line *n, const struct feed_message *m, const struct ask_owner *o,
		      struct ask **ret, struct err *e);
/* Signals the command itself, or, if SCOPE is true, everything that the command started. */
MUST_USE int ask_signal(struct line *n, uint64_t id, int sig, bool scope, const struct ask_owner *o,
			struct ask **ret, struct err *e);
/* Frees the question. If the question is an ask_look() that still waits, pid 1 stops waiting. pid 1
 * may still carry out a question of another kind if it has already got this question. */
void ask_free(struct ask *a);
