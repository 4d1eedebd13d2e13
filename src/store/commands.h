/* The commands of cordon-image that work on the store alone (options.h has their options). */
#pragma once

#include "base/err.h"
#include "store/options.h"

/* Each function returns 0, or -1 with *E filled. If the code of *E is ERR_NONE, the command has
 * already shown the error. */
MUST_USE int run_flatten(const struct options *o, struct err *e);
MUST_USE int run_own(const struct options *o, struct err *e);
MUST_USE int run_load(const struct options *o, struct err *e);
MUST_USE int run_save(const struct options *o, struct err *e);
MUST_USE int run_list(const struct options *o, struct err *e);
MUST_USE int run_inspect(const struct options *o, struct err *e);
MUST_USE int run_remove(const struct options *o, struct err *e);
MUST_USE int run_prune(const struct options *o, struct err *e);
