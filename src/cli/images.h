/* Images by reference: what `create` and `run` need of them. */
#pragma once

#include "cli/args.h"
#include "client/sandbox.h"
#include "spec/conf.h"

/* Says whether a flat form could be mounted here, once it is made. */
bool images_flat_usable(void);
/* Fails where it could not be mounted; FLAG VALUE asked for it. */
MUST_USE int images_check_flat(const char *flag, const char *value, struct err *e);
/* Finds the image of S by reference, fetching it when --pull says so, and fills in what its
 * configuration says and the command line left open; its flat form too, if S wants one. X is what configuration files said. */
MUST_USE int images_resolve(const struct args *a, const struct home *h, const struct conf_extra *x,
			    struct spec *s, struct err *e);
