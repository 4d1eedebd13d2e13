/* The network options of `create` and `run`. */
#pragma once

#include "cli/args.h"
#include "spec/conf.h"
#include "spec/spec.h"

/* Fills the network of S: its policy, its ports, and whether there is one at all. X is what
 * configuration files said, or NULL; options win over it, and their rules come first. */
MUST_USE int network_from_args(const struct args *a, const struct conf_extra *x, struct spec *s,
			       struct err *e);
/* The network options of `modify`: rules and defaults of S are replaced, all else of its network
 * stays. Without such options nothing happens. */
MUST_USE int network_change(const struct args *a, struct spec *s, struct err *e);
/* The policy of S in one line, rules as --net-rule takes them:
 * "allow@dns allow@public, else deny egress, allow ingress". */
char *network_text(const struct spec *s);
