/* The commands of cordon-image that speak to registries or keep logins for them. */
#pragma once

#include "base/err.h"
#include "store/options.h"

/* Each returns 0, or -1 with E filled. The code ERR_NONE means that the command has shown the error itself. */
MUST_USE int run_pull(const struct options *o, struct err *e);
MUST_USE int run_login(const struct options *o, struct err *e);
MUST_USE int run_logout(const struct options *o, struct err *e);
MUST_USE int run_registries(const struct options *o, struct err *e);
