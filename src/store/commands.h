/* The commands of cordon-image that work on the store alone (options.h has their options). */
#pragma once

#include "base/err.h"
#include "store/options.h"

/* Each returns 0, or -1 with E filled. The code ERR_NONE means that the command has shown the error itself. */
MUST_USE int run_flatten(const struct options *o, struct err *e);
MUST_USE int run_own(const struct options *o, struct err *e);
MUST_USE int run_load(const struct options *o, struct err *e);
MUST_USE int run_save(const struct options *o, struct err *e);
MUST_USE int run_list(const struct options *o, struct err *e);
MUST_USE int run_inspect(const struct options *o, struct err *e);
MUST_USE int run_remove(const struct options *o, struct err *e);
MUST_USE int run_prune(const struct options *o, struct err *e);
