/*
 * Files of environment variables. The option --env-file and the key `env_file` of a project file
 * name such files.
 *
 * Each line is NAME=VALUE or NAME alone (see enum env_file_bare). Empty lines and lines that begin
 * with '#' are ignored. Blanks before a name are ignored too. VALUE is the whole rest of the line
 * after the '=', and quotes are part of it.
 */
#pragma once

#include "base/str.h"
#include "spec/spec.h"

#define ENV_FILE_MAX_BYTES (1u << 20) /* the environment of a command cannot be larger anyway */

/* What a line with a NAME alone means. */
enum env_file_bare {
	/* take the value from the environment of the user who runs cordon, if the variable is set
	 * there */
	ENV_FILE_INHERITS,
	/* refuse the line, because a project must not read the variables of the person who uses the
	 * project */
	ENV_FILE_NO_BARE_NAMES,
};

/* Adds the variables in TEXT, the contents of the file PATH, to the list. A later variable replaces
 * an earlier variable of the same name. FLAG and PATH are for messages. */
MUST_USE int env_file_parse(struct spec_env **list, size_t *n, const char *flag, const char *path,
			    struct str text, enum env_file_bare bare, struct err *e);
/* Reads the file PATH and adds its variables to the list, like env_file_parse(). */
MUST_USE int env_file_read(struct spec_env **list, size_t *n, const char *flag, const char *path,
			   struct err *e);
