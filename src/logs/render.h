/* Records as text or JSON lines. Text is what was printed, put together again: half a line in one
 * record goes on in the next. */
#pragma once

#include "logs/entry.h"

struct render {
	bool json, timestamps, show_id;
	bool strip;           /* take escape sequences out of bodies */
	bool colour_sessions; /* each session in a colour of its own; never with strip */
	bool midline;         /* ours: what was written last did not end its line */
};

void render_entry(struct buf *out, struct render *r, const struct entry *e);
/* BODY without terminal escape sequences: CSI, OSC and the like, and two-byte ones. */
void render_strip(struct buf *out, struct str body);
