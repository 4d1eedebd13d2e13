/*
 * Users, as the sandbox's own /etc/passwd and /etc/group name them.
 *
 * Hostile code may have written both files. pid 1 reads only regular files up to a limit, and trusts nothing in them.
 * A string of digits is a number or an error, never a name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

#define USER_GROUPS_MAX 64
#define USER_HOME_BYTES 1024

struct user {
	uint32_t uid, gid;
	uint32_t group[USER_GROUPS_MAX];
	unsigned n_groups;
	char home[USER_HOME_BYTES]; /* "/" if unknown */
};

/* A file that pid 1 has read. pid 1 keeps the text until the file changes. */
struct users_file {
	struct stat seen; /* all zero if the text is not kept */
	char *text;       /* allocated as short as possible: an idle sandbox keeps it */
};

struct users {
	struct users_file passwd, group;
};

/* SPEC is NAME, UID, NAME:GROUP, UID:GID or a mixture; NULL is root. Fails with ERR_INVALID or ERR_NOT_FOUND. */
MUST_USE int user_find(struct users *u, const char *spec, struct user *ret, struct err *e);
/* Does what user_find() does, with the texts of the two files. */
MUST_USE int user_find_in(const char *spec, const char *passwd, const char *group, struct user *ret,
			  struct err *e);
