/* Images by reference: what `create` and `run` need of them. */
#pragma once

#include "cli/args.h"
#include "client/sandbox.h"

/* Finds the image of S by reference, fetching it when --pull says so, and fills in what its
 * configuration says and the command line left open. */
MUST_USE int images_resolve(const struct args *a, const struct home *h, struct spec *s,
			    struct err *e);
