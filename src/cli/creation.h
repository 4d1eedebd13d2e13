/* From the creation options of `create` and `run` to a validated spec. */
#pragma once

#include "cli/args.h"
#include "client/sandbox.h"
#include "spec/spec.h"

/* Fills S (initialised here). Everything that can be found wrong without starting anything is
 * found here, before any state is touched. */
MUST_USE int creation_spec(const struct args *a, const struct home *h, struct spec *s,
			   struct err *e);
/* Stops and deletes a sandbox of that name if --replace says so. */
MUST_USE int creation_replace(const struct args *a, const struct home *h, const char *name,
			      struct err *e);
