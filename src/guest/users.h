/*
 * Finds users in the sandbox's own /etc/passwd and /etc/group (base/user.h).
 *
 * Hostile code may have written both files. pid 1 reads only regular files up to a limit, and
 * trusts nothing in them.
 */
#pragma once

#include <sys/stat.h>

#include "base/err.h"
#include "base/user.h"

/* A file that pid 1 has read. pid 1 keeps the text until the file changes, but only if the file is
 * short and its last change is more than a second old. */
struct users_file {
	struct stat seen; /* all zero if the text is not kept */
	char *text;       /* allocated as short as possible, because an idle sandbox keeps it */
};

struct users {
	struct users_file passwd, group;
};

/* Does what user_find_in() does, with the sandbox's files. */
MUST_USE int user_find(struct users *u, const char *spec, struct user *ret, struct err *e);
