/*
 * Files of environment variables, as --env-file reads them.
 *
 * Each line is NAME=VALUE, or NAME for the value in the caller's environment. Empty lines and lines that begin with '#'
 * have no meaning, and neither have blanks in front of a name. VALUE is everything behind the '=', without quoting.
 */
#pragma once

#include "base/str.h"
#include "spec/spec.h"

#define ENV_FILE_MAX_BYTES (1u << 20) /* as much as one command can pass on to a program */

/* Adds the variables in TEXT, of the file PATH, to the list. A later variable replaces an earlier one of the same name.
 * A NAME without a value that the caller's environment does not have is left out. FLAG and PATH are for messages. */
MUST_USE int env_file_parse(struct spec_env **list, size_t *n, const char *flag, const char *path,
			    struct str text, struct err *e);
/* Does the same with the contents of the file PATH. */
MUST_USE int env_file_read(struct spec_env **list, size_t *n, const char *flag, const char *path,
			   struct err *e);
