/*
 * Writes a command's output into the sandbox's log. The client that reads the output writes the log
 * itself. The tap opens the log at the first output and spends a bounded share of the command's
 * time on logging. When the share is used up, the tap drops output and leaves a marker in the log,
 * so that the command never waits for the log.
 */
#pragma once

#include "base/buf.h"
#include "state/execlog.h"
#include "state/home.h"

struct tap {
	const struct home *home; /* borrowed */
	const char *name;        /* the name of the sandbox; borrowed */
	bool on, open, lost;
	int dir;
	struct execlog log;
	uint64_t id, start, spent;
	/* the command's number is known; until then the member `early` keeps the output */
	bool numbered;
	struct buf early; /* for each piece of output a struct held, followed by its bytes */
};

void tap_init(struct tap *t, const struct home *h, const char *name, bool on);
/* Ends the tap. First logs the output that `early` still keeps. */
void tap_done(struct tap *t);

void tap_add(struct tap *t, enum execlog_source source, const char *p, size_t n);
/* Sets the command's number, which the tap writes into each record of the log. */
void tap_number(struct tap *t, uint64_t id);
/* Returns true if the log has used up its share of the time. The client then need not call
 * tap_add(). */
bool tap_is_full(const struct tap *t);
/* Call this if the client did not pass some output to tap_add(). The log then gets a marker. */
void tap_missed(struct tap *t);
/* Returns true if the member `early` is full. The client must then not read output until it
 * knows the command's number. */
bool tap_waits(const struct tap *t);
