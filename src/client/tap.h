/*
 * What a command prints, on its way into the sandbox's log. Whoever reads the output writes the log; the
 * tap opens the log at the first output and spends a bounded share of the command's time on it: records
 * beyond that are dropped with a marker, the command never waits.
 */
#pragma once

#include "base/buf.h"
#include "state/execlog.h"
#include "state/home.h"

struct tap {
	const struct home *home; /* borrowed */
	const char *name;        /* of the sandbox; borrowed */
	bool on, open, lost;
	int dir;
	struct execlog log;
	uint64_t id, start, spent;
	bool numbered;    /* id is known; until then output is held back: */
	struct buf early; /* a struct held each, and its bytes */
};

void tap_init(struct tap *t, const struct home *h, const char *name, bool on);
/* Logs what was held back as well. */
void tap_done(struct tap *t);

void tap_add(struct tap *t, enum execlog_source source, const char *p, size_t n);
/* The command's number: records carry it. */
void tap_number(struct tap *t, uint64_t id);
/* The log has had its share of the time: output need not be shown to it now. */
bool tap_is_full(const struct tap *t);
/* Output went past the log. */
void tap_missed(struct tap *t);
/* The buffer for output before the command's number is known is full: read no more until then. */
bool tap_waits(const struct tap *t);
