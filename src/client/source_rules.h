/*
 * Which paths of the host a server lets its sandboxes have. The rules judge a path in its canonical form, after it
 * was looked up and held (base/identity.h); what is mounted later is the object that was held. "/" is always refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct source_rules {
	const char *const *refused; /* these directories, and everything in them */
	size_t n_refused;
	const char *const
		*root; /* only these directories, and everything in them; none: no bound */
	size_t n_roots;
	size_t makeable; /* make the directories of so many mounts, the first ones, if they are writable and not there */
};

/* ERR_DENIED if PATH, which is canonical, may not be shown. */
MUST_USE int source_rules_check(const struct source_rules *r, const char *path, struct err *e);
/* The same for a path as a caller wrote it; of a path that is not there, the part that is there counts. */
MUST_USE int source_rules_judge(const struct source_rules *r, const char *path, struct err *e);
/* Makes the directory PATH and the missing ones above it, if the rules allow it. Does nothing if there is something
 * at PATH. */
MUST_USE int source_rules_make(const struct source_rules *r, const char *path, struct err *e);
