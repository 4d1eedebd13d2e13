/*
 * The thread of a command whose system call the deputy does (guest/deputy.h): who it is, as /proc tells.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

#define CALLER_GROUPS_MAX 4096    /* a thread with more is refused; 16 KiB */
#define CALLER_STATUS_BYTES 65536 /* of /proc/TID/status; what all these groups need */
#define CALLER_LINK_BYTES 64      /* "TGID/task/TID/fd/N" */

struct caller {
	pid_t tid, tgid;
	uint32_t uid, gid;     /* those that the kernel asks about files: fsuid, fsgid */
	uint64_t capabilities; /* effective ones */
	uint32_t group[CALLER_GROUPS_MAX];
	size_t n_groups;
};

/* Reads the text of /proc/TID/status. RET->tid is the caller's to set. -E2BIG: too many groups, or
 * the text is cut off. */
MUST_USE int caller_parse(struct str status, struct caller *ret);

/* True when PATH begins with a link of the caller's own process that leads to an open file of it or to its
 * root, directory or program, as /proc/self/fd/5/x does. Then RET_LINK is that link below /proc with
 * the caller's number in it, and RET_REST what follows of PATH, without slashes before it. */
bool caller_owns_link(const struct caller *c, const char *path, char ret_link[CALLER_LINK_BYTES],
		      const char **ret_rest);
