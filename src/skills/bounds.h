/*
 * The directories of the host that the worker never works on. The process that talks to the peers tells the worker
 * the skills root and the directory to import from, so these paths may come from a hostile peer.
 */
#pragma once

#include "base/err.h"

struct bounds {
	const char *const *refused; /* NULL at the end; may be NULL */
	const char *own;            /* everything in this directory is allowed; may be NULL */
};

/* Fails with ERR_DENIED if the canonical PATH is a refused directory, lies in one, or contains one. */
MUST_USE int bounds_check(const struct bounds *b, const char *path, struct err *e);
/* Makes the absolute directory PATH and the missing directories above it, if the bounds allow PATH. */
MUST_USE int bounds_make(const struct bounds *b, const char *path, struct err *e);
