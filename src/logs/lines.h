/* Reads the lines of a file that grows. A reader at the end may call lines_next() again later. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct lines {
	int fd; /* borrowed */
	struct buf in;
	size_t given;  /* bytes at the front of `in` that were handed out */
	uint64_t at;   /* offset in the file at which `in` starts */
	bool skipping; /* inside a line beyond the limit */
};

/* Starts at OFFSET, the start of a line. */
void lines_init(struct lines *l, int fd, uint64_t offset);
void lines_done(struct lines *l);
/* Returns 1 and the next line without its line feed, 0 when there is no whole line yet, or -errno.
 * The line is valid until the next call. Skips lines beyond ENTRY_LINE_MAX_BYTES. */
MUST_USE int lines_next(struct lines *l, struct str *ret, uint64_t *ret_offset);
/* Returns the offset of the first line that has not been handed out. */
uint64_t lines_offset(const struct lines *l);
