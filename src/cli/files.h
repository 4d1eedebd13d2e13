/* Reads the settings of a new sandbox from files: the installation's config.json, and the YAML files
 * of --conf, --net-conf and so on. The command line overrides both. */
#pragma once

#include "cli/args.h"
#include "client/sandbox.h"
#include "spec/conf.h"
#include "spec/spec.h"

/* The caller has initialised S and zeroed X, and must release X even after a failure. */
MUST_USE int files_apply(const struct args *a, const struct home *h, struct spec *s,
			 struct conf_extra *x, struct err *e);
/* Reads YAML from IN, which is the file PATH, or text that was read from it. Errors name PATH. */
MUST_USE int files_convert(int in, const char *path, struct json_doc **ret, struct err *e);
