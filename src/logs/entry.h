/*
 * Reads one entry of a sandbox's log, or makes an entry from a line of plain text. A log holds what
 * commands printed, so no line is trusted. A line of the log that does not parse as an entry is
 * skipped.
 */
#pragma once

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "state/execlog.h"

/* twice the longest line that cordon writes; longer lines are skipped */
#define ENTRY_LINE_MAX_BYTES (2u << 20)

struct entry {
	/* the whole line of the log, without its line feed; borrowed; empty if the entry was made
	 * from plain text */
	struct str line;
	uint64_t t_ns;
	const char *time; /* t_ns as text; for an entry of the log, as it is written there */
	enum execlog_source source;
	uint64_t id;     /* 0 if the entry has no id */
	struct str body; /* the bytes that were printed */
	/* owned memory, to which `time` and `body` may point; the body of an entry that was made
	 * from plain text is borrowed */
	struct json_doc *doc;
	struct buf bytes;
	char stamp[CLOCK_RFC3339_BYTES];
};

void entry_init(struct entry *e);
void entry_done(struct entry *e);
/* Reads the entry in LINE into *E, which may hold an earlier entry. Returns 0, or -EINVAL if LINE
 * is no entry. */
MUST_USE int entry_parse(struct entry *e, struct str line);
/* Makes an entry of the source `system` from a line of plain text. The time of the entry is the
 * time at the start of the line, or T_NS if the line starts with no time. */
void entry_from_text(struct entry *e, struct str line, uint64_t t_ns);
