/* Mounts as creation options and `modify` name them: read, looked up, and checked against what can be
 * promised and against our own state. */
#pragma once

#include "cli/args.h"
#include "client/sandbox.h"
#include "spec/spec.h"

/* Adds those of the options. */
MUST_USE int mounts_from_args(const struct args *a, struct spec *s, struct err *e);
/* After spec_hold_sources(): volumes, the root directory and the root disk of S. */
MUST_USE int mounts_check(struct spec *s, const struct args *a, const struct home *h,
			  struct err *e);
/* `modify --volume`: puts them in the place of those with the same target, or adds them. */
MUST_USE int mounts_change(const struct args *a, const struct home *h, struct spec *s,
			   struct err *e);
