/* Functions for commands that act on several sandboxes. The user chooses them by name or label, or
 * chooses all of them. Such a command acts on one sandbox after the other. If the command fails for
 * a sandbox, it goes on with the next sandbox. */
#pragma once

#include "cli/args.h"
#include "client/sandbox.h"

/* Loads all sandboxes. Prints a warning for each record that cannot be loaded. */
MUST_USE int targets_load(const struct home *h, struct sandbox_list *ret, struct err *e);

/* Acts on one sandbox. If the function fails, targets_each() prints the error and goes on. DATA
 * is the argument DATA of targets_each(). */
typedef int target_fn(const struct args *a, const struct home *h, const char *name, void *data,
		      struct err *e);
/* Calls FN for each chosen sandbox. Returns the exit status. It is not 0 if the sandboxes could not
 * be loaded, or if FN failed for a sandbox. If QUIET_ERRORS is true, the option `-q` hides the
 * errors of FN. */
int targets_each(const struct args *a, target_fn *fn, void *data, bool quiet_errors);
/* Does the same as targets_each() for all sandboxes. If ONLY_UP is true, skips sandboxes that are
 * not up. */
int targets_all(const struct args *a, target_fn *fn, void *data, bool quiet_errors, bool only_up);
