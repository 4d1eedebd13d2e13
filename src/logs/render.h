/* Renders log entries as text or as JSON lines. Text output joins what commands printed: a line can
 * begin in one entry and continue in the next entry. */
#pragma once

#include "logs/entry.h"

/* What happens to the bytes that commands printed. */
enum render_bytes {
	RENDER_STRIP, /* escape sequences are taken out, for a file or another program */
	RENDER_RAW,   /* nothing is taken out or changed */
	/* like RENDER_STRIP; a carriage return begins a new line, and control bytes except tab and
	 * line feed are shown as \xNN */
	RENDER_TERMINAL,
};

struct render {
	bool json, timestamps, show_id;
	enum render_bytes bytes;
	bool colour_sessions; /* each session in a colour of its own */
	/* state kept from one entry to the next */
	bool midline;      /* the last output did not end its line */
	bool after_return; /* the last output ended with a carriage return */
	char held[4];      /* for RENDER_TERMINAL: a character that the next entry may complete */
	unsigned n_held;
	uint64_t held_id;
	enum execlog_source held_source;
};

void render_entry(struct buf *out, struct render *r, const struct entry *e);
/* Removes terminal escape sequences from BODY: CSI, OSC, similar sequences and two-byte
 * sequences. */
void render_strip(struct buf *out, struct str body);
/* Renders BODY as RENDER_TERMINAL says. */
void render_clean(struct buf *out, struct str body);
/* Cleans a line of JSON for a terminal: control characters that JSON allows in a string become
 * escapes such as \u007f. */
void render_clean_json(struct buf *out, struct str line);
/* Adds LINE, which is JSON, and a line feed. If R is for a terminal, cleans the line. */
void render_json_line(struct buf *out, const struct render *r, struct str line);
