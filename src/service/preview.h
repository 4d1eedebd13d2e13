/* The last part of what a managed process wrote to stderr. Peers read only this part of stderr. */
#pragma once

#include <stddef.h>

#include "base/buf.h"

#define PREVIEW_CHARACTERS 4000u
/* the largest amount of memory that one preview takes */
#define PREVIEW_HELD_BYTES (PREVIEW_CHARACTERS * 8u)

struct preview {
	struct buf tail;
};

void preview_init(struct preview *p);
void preview_done(struct preview *p);
void preview_add(struct preview *p, const void *bytes, size_t n);
/* Appends the text to OUT: at most PREVIEW_CHARACTERS characters of UTF-8, without blanks at the
 * end. */
void preview_render(const struct preview *p, struct buf *out);
