/* A line that `find` and `stat` print about a file: the time of its last change, its size and its
 * path. The line comes from a sandbox, so it may hold anything. This code does no I/O. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct entry {
	uint64_t changed_sec; /* seconds since 1970 */
	uint64_t size;
	/* relative, without empty, `.` and `..` components; borrowed from the line */
	struct str path;
};

/* Reads "SECONDS SIZE ./PATH". Returns 0 or -EINVAL. */
MUST_USE int entry_read(struct str line, struct entry *ret);
