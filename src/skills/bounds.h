/*
 * The directories of the host on which the worker never works. The process that talks to the peers
 * tells the worker the skills root and the directory from which to import. So these two paths may
 * come from a hostile peer.
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
/* Makes the absolute directory PATH and the missing directories above it, if the bounds allow
 * PATH. */
MUST_USE int bounds_make(const struct bounds *b, const char *path, struct err *e);
