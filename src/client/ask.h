/*
 * One question about the background commands of a sandbox, over a line (client/line), on the loop: start one, list
 * all, look at one, feed one, signal one. Whoever asks keeps nobody else from the command; client/job attaches to one.
 *
 * The owner gets the answer exactly once, unless it frees the question before. Callbacks come only from the loop, from
 * line_hear() and from line_free(), never from a function of this file. Any function may be called from any callback,
 * ask_free() too: memory goes when the last callback returned.
 */
#pragma once

#include "base/err.h"
#include "client/line.h"
#include "wire/background.h"

struct ask;

struct answer {
	/* why there is no answer: ERR_NOT_FOUND, ERR_BUSY, ERR_LIMIT, ERR_UNSUPPORTED, ERR_NOT_RUNNING …; or NULL */
	const struct err *err;
	uint64_t id;             /* of the command that was started; 0: it could not be … */
	struct exit_message end; /* … and this says why */
};

struct ask_owner {
	/* A command, borrowed for the call: one of a list, or the one that was asked about. May be NULL. */
	void (*command)(void *arg, const struct command_message *m);
	/* The answer is complete. It is borrowed for the call; the owner still has to free the question. */
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
/* To the command itself, or to everything that it started. */
MUST_USE int ask_signal(struct line *n, uint64_t id, int sig, bool scope, const struct ask_owner *o,
			struct ask **ret, struct err *e);
/* A LOOK that waits does so no more. What was asked to be done may be done all the same. */
void ask_free(struct ask *a);
