/*
 * Users as the sandbox's own /etc/passwd and /etc/group tell them.
 *
 * Both files belong to hostile code: they are read whole, bounded, never through a FIFO or device,
 * and parsed without trust. A digit string is a number or an error, never a name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define USER_GROUPS_MAX 64
#define USER_HOME_BYTES 1024

struct user {
	uint32_t uid, gid;
	uint32_t group[USER_GROUPS_MAX];
	unsigned n_groups;
	char home[USER_HOME_BYTES]; /* "/" when unknown */
};

/* SPEC is name, uid, name:group, uid:gid or a mixture; NULL is root. ERR_INVALID, ERR_NOT_FOUND. */
MUST_USE int user_find(const char *spec, struct user *ret, struct err *e);
/* The same over texts; what user_find() calls, and what the tests and the fuzzer see. */
MUST_USE int user_find_in(const char *spec, const char *passwd, const char *group, struct user *ret,
			  struct err *e);
