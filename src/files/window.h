/*
 * The part of a text that a model reads at once: whole lines from a line number on, up to a number
 * of lines and bytes.
 *
 * The window itself reads no file. The owner adds the bytes of a file in pieces of any size, until
 * the window wants no more. Bytes that are not UTF-8 become U+FFFD.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum window_limit { WINDOW_WHOLE, WINDOW_LINES, WINDOW_BYTES };

struct window {
	uint64_t first_line; /* the number of the first line that is wanted, from 1 */
	uint64_t max_lines;
	size_t max_bytes;
	uint64_t line;   /* the number of the line that is being read */
	uint64_t at;     /* how many bytes of the text come before that line */
	uint64_t taken;  /* lines in the content */
	bool too_long;   /* the first line alone exceeds max_bytes; the content is empty */
	struct buf part; /* the line that is being read */
	struct buf content;
	/* the limit that ended the window; WINDOW_WHOLE means that no limit has ended it */
	enum window_limit limit;
};

void window_init(struct window *w, uint64_t first_line, uint64_t max_lines, size_t max_bytes);
void window_done(struct window *w);
/* Adds bytes. Returns false if the window wants no more. */
bool window_add(struct window *w, const char *p, size_t n);
/* Tells the window that the text has ended. */
void window_end(struct window *w);
