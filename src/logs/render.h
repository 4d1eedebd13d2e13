/* Renders records as text or as JSON lines. Text output joins what commands printed: a line that
 * begins in one record continues in the next record. */
#pragma once

#include "logs/entry.h"

/* What happens to the bytes that commands printed. */
enum render_bytes {
	RENDER_STRIP, /* escape sequences are taken out, for a file or another program */
	RENDER_RAW,   /* everything passes */
	RENDER_TERMINAL, /* like STRIP; other control bytes are shown as \\xNN, and a carriage return begins a new line */
};

struct render {
	bool json, timestamps, show_id;
	enum render_bytes bytes;
	bool colour_sessions; /* each session in a colour of its own */
	/* state kept from one record to the next */
	bool midline;      /* the last output did not end its line */
	bool after_return; /* the last output ended with a carriage return */
	char held[4];      /* TERMINAL: an incomplete character that the next record may end */
	unsigned n_held;
	uint64_t held_id;
	enum execlog_source held_source;
};

void render_entry(struct buf *out, struct render *r, const struct entry *e);
/* Removes terminal escape sequences from BODY: CSI, OSC, similar ones and two-byte sequences. */
void render_strip(struct buf *out, struct str body);
/* Renders BODY like RENDER_TERMINAL. */
void render_clean(struct buf *out, struct str body);
/* Cleans a line of JSON for a terminal: control characters that JSON allows become \\u escapes. */
void render_clean_json(struct buf *out, struct str line);
/* Adds LINE, which is JSON, and a line feed. If R is for a terminal, cleans the line. */
void render_json_line(struct buf *out, const struct render *r, struct str line);
