/*
 * Users as the sandbox's own /etc/passwd and /etc/group tell them.
 *
 * Both files belong to hostile code: they are read whole, bounded, never through a FIFO or device,
 * and parsed without trust. A digit string is a number or an error, never a name.
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
	char home[USER_HOME_BYTES]; /* "/" when unknown */
};

/* A file as it was read, kept while it is the same. */
struct users_file {
	struct stat seen; /* all zero: not kept */
	char *text;       /* as long as it must be: it stays in an idle sandbox's memory */
};

struct users {
	struct users_file passwd, group;
};

/* SPEC is name, uid, name:group, uid:gid or a mixture; NULL is root. ERR_INVALID, ERR_NOT_FOUND. */
MUST_USE int user_find(struct users *u, const char *spec, struct user *ret, struct err *e);
/* The same over texts; what user_find() calls, and what the tests and the fuzzer see. */
MUST_USE int user_find_in(const char *spec, const char *passwd, const char *group, struct user *ret,
			  struct err *e);
