/* The network options of `create`, `run` and `modify`. */
#pragma once

#include "cli/args.h"
#include "spec/conf.h"
#include "spec/spec.h"

/* Fills the network of S: whether it is on, its policy and its ports. X holds the settings of
 * configuration files, or is NULL. Options override X. Rules of options come before rules of X. */
MUST_USE int network_from_args(const struct args *a, const struct conf_extra *x, struct spec *s,
			       struct err *e);
/* Applies the network options of `modify`, if there are any: replaces or edits the rules, defaults
 * and ports of S, and keeps the other network settings of S. If MUST_BE_SET is true, it is an error
 * to remove a port that is not published. */
MUST_USE int network_change(const struct args *a, bool must_be_set, struct spec *s, struct err *e);
/* Returns the policy of S in one line, with rules in the syntax of --net-rule:
 * "allow@dns allow@public, else deny egress, allow ingress". If the network is off, or if the rules
 * cannot be read, the line says only that. */
char *network_text(const struct spec *s);
/* Returns the network of S as compact JSON: {"enabled": …, "policy": …}, with the members that
 * `inspect` shows. */
char *network_json(const struct spec *s);
