/*
 * Finds a user of a sandbox or an image. The caller passes the texts of /etc/passwd and /etc/group
 * of this sandbox or image.
 *
 * Hostile code may have written these texts, and may have named a user "0", for example. So a
 * caller who asks for a string of digits always gets the user or group with this number, never one
 * with this name. A number that is too large is an error.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define USER_GROUPS_MAX 64
#define USER_HOME_BYTES 1024
/* the most bytes that a passwd or group file may have: room for thousands of users. A longer file
 * counts as empty */
#define USER_FILE_MAX_BYTES (1u << 20)

struct user {
	uint32_t uid, gid;
	uint32_t group[USER_GROUPS_MAX];
	unsigned n_groups;
	char home[USER_HOME_BYTES]; /* "/" if unknown */
};

/* SPEC has the form `NAME`, `UID`, `NAME:GROUP`, `NAME:GID`, `UID:GROUP` or `UID:GID`; NULL
 * means root. Fails with ERR_INVALID or ERR_NOT_FOUND. */
MUST_USE int user_find_in(const char *spec, const char *passwd, const char *group, struct user *ret,
			  struct err *e);
