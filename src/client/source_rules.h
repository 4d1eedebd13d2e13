/*
 * Rules that say which paths of the host a server gives to its sandboxes. A path is looked up once
 * (base/identity.h), and the rules judge its canonical form. If the path leads to another object
 * later, the mount fails. The path "/" is always refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct source_rules {
	/* refuse these directories, everything in them, and every directory that contains one of
	 * them */
	const char *const *refused;
	size_t n_refused;
	/* if any are listed, only these directories and everything in them are allowed */
	const char *const *root;
	size_t n_roots;
	/* for the first `makeable` mounts of a spec: if such a mount is writable and its directory
	 * is missing, make the directory */
	size_t makeable;
	/* each mount's path must already be canonical as the user wrote it, so that it leads
	 * over no link */
	bool literal;
};

/* The directories of the host that a server never shares if it does not trust its peers. */
#define SOURCE_RULES_SYSTEM 8
extern const char *const source_rules_system[SOURCE_RULES_SYSTEM];

/* Fails with ERR_DENIED if PATH, which is canonical, may not be shared. */
MUST_USE int source_rules_check(const struct source_rules *r, const char *path, struct err *e);
/* Does the same as source_rules_check(), for a path as the user wrote it. Directories at the end
 * of the path may be missing. */
MUST_USE int source_rules_judge(const struct source_rules *r, const char *path, struct err *e);
/* Makes the directory PATH and its missing parents, if the rules allow it. Does nothing if there is
 * something at PATH. */
MUST_USE int source_rules_make(const struct source_rules *r, const char *path, struct err *e);
