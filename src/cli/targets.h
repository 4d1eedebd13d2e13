/* For commands that act on several sandboxes, chosen by name or label. Such a command acts on all
 * of them in order, even if it fails for some. */
#pragma once

#include "cli/args.h"
#include "client/sandbox.h"

/* Acts on one sandbox. If it fails, targets_each() prints the error and goes on. DATA is the DATA of targets_each(). */
typedef int target_fn(const struct args *a, const struct home *h, const char *name, void *data,
		      struct err *e);
/* Returns the exit status: 1 if FN failed for a sandbox. With QUIET_ERRORS, -q hides error texts. */
int targets_each(const struct args *a, target_fn *fn, void *data, bool quiet_errors);
/* Does the same for all sandboxes, or, if ONLY_UP, for all that are up. */
int targets_all(const struct args *a, target_fn *fn, void *data, bool quiet_errors, bool only_up);
