/* Makes a validated spec from the creation options of `create` and `run`, and removes the sandbox
 * that the new one replaces. */
#pragma once

#include "cli/args.h"
#include "client/sandbox.h"
#include "spec/spec.h"

/* Initialises S, and fills S from the options, the configuration files and the project file. Makes
 * all checks that need no running sandbox before it changes any state. */
MUST_USE int creation_spec(const struct args *a, const struct home *h, struct spec *s,
			   struct err *e);
/* If --replace or --replace-with-timeout was given, stops and deletes the sandbox NAME. */
MUST_USE int creation_replace(const struct args *a, const struct home *h, const char *name,
			      struct err *e);
