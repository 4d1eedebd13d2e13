/* Commands that act on several sandboxes, chosen by name or label: in order, each independent of
 * the others. */
#pragma once

#include "cli/args.h"
#include "client/sandbox.h"

/* Acts on one sandbox. Its error is printed and the next one follows. DATA is the caller's. */
typedef int target_fn(const struct args *a, const struct home *h, const char *name, void *data,
		      struct err *e);
/* Exit status: 1 if any failed. QUIET_ERRORS hides their texts under -q. */
int targets_each(const struct args *a, target_fn *fn, void *data, bool quiet_errors);
