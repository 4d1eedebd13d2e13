/* The lines of a growing file: at its end one can ask again later. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct lines {
	int fd; /* borrowed */
	struct buf in;
	size_t given;  /* bytes at the front of `in` that were handed out */
	uint64_t at;   /* where in the file `in` starts */
	bool skipping; /* inside a line beyond the limit */
};

/* From OFFSET on, which is the start of a line. */
void lines_init(struct lines *l, int fd, uint64_t offset);
void lines_done(struct lines *l);
/* 1, *RET without its line feed until the next call and its place; 0 when there is no whole line
 * yet; -errno. Lines beyond ENTRY_LINE_MAX_BYTES are passed over. */
MUST_USE int lines_next(struct lines *l, struct str *ret, uint64_t *ret_offset);
/* Where the first line starts that has not been handed out. */
uint64_t lines_offset(const struct lines *l);
