/* The keys of configuration files and what they do to a spec. Private to spec/. */
#pragma once

#include "spec/conf.h"

/* Are V's keys those of a file of this scope? The message lists the known ones. */
MUST_USE int conf_check_keys(const struct json_value *v, enum conf_scope scope, struct err *e);
/* Applies a root-shaped, expanded document. */
MUST_USE int conf_apply_value(const struct json_value *v, const char *shell, struct spec *s,
			      struct conf_extra *x, struct err *e);
