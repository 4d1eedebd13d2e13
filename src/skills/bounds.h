/*
 * Bounds say which directories of the host the skill worker refuses. The process that talks to the
 * peers tells the worker the skills root and the directory from which to import. These two paths
 * may come from a hostile peer, so the worker checks both.
 */
#pragma once

#include "base/err.h"

struct bounds {
	const char *const *refused; /* NULL at the end; may be NULL */
	const char *own;            /* all paths in this directory are allowed; may be NULL */
};

/* Fails with ERR_DENIED if PATH is a refused directory, lies in a refused directory, or contains
 * one. PATH must be canonical. */
MUST_USE int bounds_check(const struct bounds *b, const char *path, struct err *e);
/* Makes the absolute directory PATH and the missing directories above it, if the bounds allow PATH.
 * If PATH exists already, does nothing and checks nothing. */
MUST_USE int bounds_make(const struct bounds *b, const char *path, struct err *e);
