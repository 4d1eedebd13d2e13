/* Counts the files in a directory of the host and adds up their sizes. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* How deep directories may be nested. tree_measure() holds one descriptor per level and refuses a
 * deeper tree. */
#define TREE_DEPTH_MAX 256u

struct tree_size {
	/* the sizes of files and of links, which are not followed. A file with many blocks behind
	 * its end counts with the size of all its blocks */
	uint64_t bytes;
	uint64_t entries; /* files, links and directories */
};

/* Counts what is in the directory PATH. PATH must be canonical, because no link is followed. Stops
 * early if there is more than MAX_BYTES or MAX_ENTRIES. A limit of 0 means no limit. */
MUST_USE int tree_measure(const char *path, uint64_t max_bytes, uint64_t max_entries,
			  struct tree_size *ret, struct err *e);
