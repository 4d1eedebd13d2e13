/*
 * Reads /proc/PID/uid_map and gid_map. Such a map translates the ids inside a user namespace to the
 * ids in the namespace of the process that reads the map.
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

/* Returns 0, or -EINVAL if TEXT is not a map that a kernel would write. An empty TEXT is valid and
 * gives no lines, because the kernel shows a map as empty until the map is written. */
MUST_USE int idmap_parse(struct str text, struct idmap *ret);
/* Reads the map in the file PATH, which is /proc/self/uid_map or /proc/self/gid_map. Returns 0 or
 * -errno. */
MUST_USE int idmap_read(const char *path, struct idmap *ret);
/* Finds the line of M that maps the most ids, not counting ids below FROM. *RET is the part of
 * this line from FROM on. Returns 0, or -ENOENT if no line maps such an id. The ids of a sandbox
 * come from one line, because a line in the map of a child namespace must lie within one line of
 * the parent's map. */
MUST_USE int idmap_longest_run(const struct idmap *m, uint32_t from, struct idmap_line *ret);
/* Returns true if every id of the machine is mapped. This means that we are not in the user
 * namespace of a container. */
bool idmap_is_whole(void);
