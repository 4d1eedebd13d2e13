/*
 * The command line of cordon-tool, which `cordon tool` and `cordon service` run:
 *
 *   cordon-tool tool [OPTIONS] NAME JSON
 *   cordon-tool service VERB [OPTIONS] [JSON]
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct options {
	const char *group; /* "tool" or "service" */
	const char *verb;  /* the tool's name, or the verb of the service */
	const char *json;  /* NULL if the command line has no JSON */
	const char *config, *session, *query, *workspace, *output_limit,
		*format; /* NULL if the option is absent */
	bool standalone; /* --standalone-box */
};

/* Returns 0, or -1 with ERR_USAGE if the command line is not valid. */
MUST_USE int options_read(struct options *o, int argc, char **argv, struct err *e);
