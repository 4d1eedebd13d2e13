/*
 * One record of a sandbox's log, read back. What commands printed is in it, so nothing about a line
 * is believed: it parses as a record or it is passed over.
 */
#pragma once

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "state/execlog.h"

#define ENTRY_LINE_MAX_BYTES \
	(2u << 20) /* twice what a writer makes; longer lines are passed over */

struct entry {
	struct str line; /* as stored, without its line feed; borrowed */
	uint64_t t_ns;
	const char *time; /* as stored */
	enum execlog_source source;
	uint64_t id;     /* 0: none */
	struct str body; /* the bytes that were printed */
	/* owned: what the slices above point into */
	struct json_doc *doc;
	struct buf bytes;
	char stamp[CLOCK_RFC3339_BYTES];
};

void entry_init(struct entry *e);
void entry_done(struct entry *e);
/* 0, or -EINVAL for a line that is no record. E may have held another one. */
MUST_USE int entry_parse(struct entry *e, struct str line);
/* A line of a log that has no records, as a system record of its own time, or of that one. */
void entry_from_text(struct entry *e, struct str line, uint64_t t_ns);
