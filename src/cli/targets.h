/* For commands that act on several sandboxes, chosen by name or label. They act on each in order,
 * even if it failed for another. */
#pragma once

#include "cli/args.h"
#include "client/sandbox.h"

/* Acts on one sandbox. targets_each() prints its error and goes on. DATA is the caller's. */
typedef int target_fn(const struct args *a, const struct home *h, const char *name, void *data,
		      struct err *e);
/* Returns the exit status: 1 if FN failed for a sandbox. With QUIET_ERRORS, -q hides error texts. */
int targets_each(const struct args *a, target_fn *fn, void *data, bool quiet_errors);
