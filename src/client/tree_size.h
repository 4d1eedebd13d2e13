/* How much is in a directory of the host. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* How deep directories may be nested. tree_measure() holds one descriptor per level and refuses a deeper tree. */
#define TREE_DEPTH_MAX 256u

struct tree_size {
	uint64_t bytes;   /* the sizes of files and of links, which are not followed */
	uint64_t entries; /* files, links and directories */
};

/* Counts what is in the directory PATH, which must be canonical: no link in it is followed. Stops early when there is
 * more than MAX_BYTES or MAX_ENTRIES, unless the limit is 0. */
MUST_USE int tree_measure(const char *path, uint64_t max_bytes, uint64_t max_entries,
			  struct tree_size *ret, struct err *e);
