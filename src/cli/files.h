/* Reads the settings of a new sandbox from files: the installation's config.json, and the YAML
 * files that options like `--conf` and `--net-conf` name. Other options override the settings of
 * the files. */
#pragma once

#include "cli/args.h"
#include "client/sandbox.h"
#include "spec/conf.h"
#include "spec/spec.h"

/* Reads all these files and applies them to *S and *X. Also puts the parts of the home into the
 * directories that config.json names (state/places.h). The caller has initialised S and zeroed X,
 * and must release X even after a failure. */
MUST_USE int files_apply(const struct args *a, const struct home *h, struct spec *s,
			 struct conf_extra *x, struct err *e);
/* Reads YAML from the descriptor IN, which has the text of the file PATH. Error messages
 * begin with PATH. */
MUST_USE int files_convert(int in, const char *path, struct json_doc **ret, struct err *e);
