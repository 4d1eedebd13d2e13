/*
 * Patterns for file names, as Python's rglob() understands them. This code does no I/O.
 *
 * `*`, `?` and `[…]` match within one component, and `**` matches any number of components, also
 * none. A pattern may begin at any depth: `*.py` matches `a/b/c.py`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

#define PATTERN_PARTS_MAX 64u
#define PATTERN_DEPTH_MAX 512u /* a path with more components matches no pattern */

struct pattern {
	size_t n;
	struct str part[PATTERN_PARTS_MAX]; /* borrowed from the text */
};

/* Reads a pattern. Returns 0. Returns -EINVAL if the pattern is empty, is absolute or has a
 * component `..`, and -E2BIG if it has too many components. */
MUST_USE int pattern_read(struct pattern *p, struct str text);
/* Matches a relative path without empty components. */
bool pattern_matches(const struct pattern *p, struct str path);
