/* Commands that act on several sandboxes: by name, by label, in order, each on its own. */
#pragma once

#include "cli/args.h"
#include "client/sandbox.h"

/* Acts on one; its error is printed and the rest goes on. DATA is the caller's. */
typedef int target_fn(const struct args *a, const struct home *h, const char *name, void *data,
		      struct err *e);
/* Exit status: 1 if any failed. QUIET_ERRORS hides their texts under -q. */
int targets_each(const struct args *a, target_fn *fn, void *data, bool quiet_errors);
