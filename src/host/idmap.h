/*
 * /proc/PID/uid_map and gid_map: which ids of a user namespace mean which ids of the reader's
 * namespace.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define IDMAP_LINES_MAX 340        /* the kernel's own limit */
#define IDMAP_TEXT_MAX_BYTES 16384 /* holds IDMAP_LINES_MAX lines of three padded numbers */

struct idmap_line {
	uint32_t inside, outside, count;
};

struct idmap {
	unsigned n;
	struct idmap_line line[IDMAP_LINES_MAX];
};

/* Returns 0, or -EINVAL for text that no kernel writes. A map that is not written yet is empty. */
MUST_USE int idmap_parse(struct str text, struct idmap *ret);
/* Reads /proc/self/uid_map or gid_map. Returns 0 or -errno. */
MUST_USE int idmap_read(const char *path, struct idmap *ret);
/* Finds the longest run of inside ids from FROM upwards that a single line maps. Our namespaces use
 * such a run, because a line of a child's map may not span two lines of its parent's map. */
MUST_USE int idmap_longest_run(const struct idmap *m, uint32_t from, struct idmap_line *ret);
/* Returns true if every id of the machine is mapped: we are not in a container's user namespace. */
bool idmap_is_whole(void);
