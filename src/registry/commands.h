/* The commands of cordon-image that speak to registries or keep logins for them. */
#pragma once

#include "base/err.h"
#include "store/options.h"

/* Each function returns 0, or -1 with *E filled. If the code of *E is ERR_NONE, the command has
 * already shown the error. */
MUST_USE int run_pull(const struct options *o, struct err *e);
MUST_USE int run_login(const struct options *o, struct err *e);
MUST_USE int run_logout(const struct options *o, struct err *e);
MUST_USE int run_registries(const struct options *o, struct err *e);
