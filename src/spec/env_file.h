/*
 * Files of environment variables, as --env-file and the `env_file` of a project file name them.
 *
 * Each line is NAME=VALUE, or NAME for the value in the caller's environment. Empty lines and lines that begin with '#'
 * have no meaning, and neither have blanks in front of a name. VALUE is everything behind the '=', without quoting.
 */
#pragma once

#include "base/str.h"
#include "spec/spec.h"

#define ENV_FILE_MAX_BYTES (1u << 20) /* as much as one command can pass on to a program */

/* What a line with a NAME alone means. */
enum env_file_bare {
	ENV_FILE_INHERITS, /* take the value from the caller's environment, if it has one */
	ENV_FILE_NO_BARE_NAMES, /* refuse it: a project must not read the variables of the person who uses it */
};

/* Adds the variables in TEXT, of the file PATH, to the list. A later variable replaces an earlier one of the same name.
 * FLAG and PATH are for messages. */
MUST_USE int env_file_parse(struct spec_env **list, size_t *n, const char *flag, const char *path,
			    struct str text, enum env_file_bare bare, struct err *e);
/* Does the same with the contents of the file PATH. */
MUST_USE int env_file_read(struct spec_env **list, size_t *n, const char *flag, const char *path,
			   struct err *e);
