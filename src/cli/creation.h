/* Makes a validated spec from the creation options of `create` and `run`. */
#pragma once

#include "cli/args.h"
#include "client/sandbox.h"
#include "spec/spec.h"

/* Initialises and fills S. Before it changes any state, makes all checks that need no running
 * sandbox. */
MUST_USE int creation_spec(const struct args *a, const struct home *h, struct spec *s,
			   struct err *e);
/* If --replace was given, stops and deletes the sandbox NAME. */
MUST_USE int creation_replace(const struct args *a, const struct home *h, const char *name,
			      struct err *e);
