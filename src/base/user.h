/*
 * Users of a sandbox or an image, found in the texts of its /etc/passwd and /etc/group.
 *
 * Hostile code may have written both texts. A string of digits is a number or an error, never a name.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define USER_GROUPS_MAX 64
#define USER_HOME_BYTES 1024
#define USER_FILE_MAX_BYTES (1u << 20) /* thousands of users; a longer file counts as empty */

struct user {
	uint32_t uid, gid;
	uint32_t group[USER_GROUPS_MAX];
	unsigned n_groups;
	char home[USER_HOME_BYTES]; /* "/" if unknown */
};

/* SPEC is NAME, UID, NAME:GROUP, UID:GID or a mixture; NULL is root. Fails with ERR_INVALID or ERR_NOT_FOUND. */
MUST_USE int user_find_in(const char *spec, const char *passwd, const char *group, struct user *ret,
			  struct err *e);
