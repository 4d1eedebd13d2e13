/* Reads the lines of a file that grows. At the end of the file, the caller may call lines_next()
 * again later. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct lines {
	int fd; /* borrowed */
	struct buf in;
	size_t given;  /* bytes at the front of `in` that the caller has already got */
	uint64_t at;   /* offset in the file at which `in` starts */
	bool skipping; /* the bytes belong to a line that is too long */
};

/* Starts at OFFSET, where a line must begin. */
void lines_init(struct lines *l, int fd, uint64_t offset);
void lines_done(struct lines *l);
/* Returns 1 and the next line without its line feed, 0 if the next line is not complete yet, or
 * -errno. The line is valid until the next call. Skips lines beyond ENTRY_LINE_MAX_BYTES. */
MUST_USE int lines_next(struct lines *l, struct str *ret, uint64_t *ret_offset);
/* Returns the offset of the first line that lines_next() has not returned yet. */
uint64_t lines_offset(const struct lines *l);
