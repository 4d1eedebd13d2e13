/* "The caller" is the thread whose system call the deputy makes (guest/deputy.h). This code
 * reads the caller's ids and rights from /proc. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

#define CALLER_GROUPS_MAX 4096    /* the array takes 16 KiB; a thread with more groups is refused */
#define CALLER_STATUS_BYTES 65536 /* the longest /proc/TID/status with CALLER_GROUPS_MAX groups */
#define CALLER_LINK_BYTES 64      /* enough for "TGID/task/TID/fd/N" */

struct caller {
	pid_t tid, tgid;
	uint32_t uid, gid;     /* fsuid and fsgid, with which the kernel checks access to files */
	uint64_t capabilities; /* effective capabilities */
	uint32_t group[CALLER_GROUPS_MAX];
	size_t n_groups;
};

/* Parses the text of /proc/TID/status; does not set RET->tid. Returns -E2BIG if there are too many
 * groups or the text is cut off, and -EINVAL if a number in the text is malformed. */
MUST_USE int caller_parse(struct str status, struct caller *ret);

/* Returns true if PATH begins with one of the links `fd/N`, `root`, `cwd` and `exe` that the
 * caller's own process has in /proc, such as /proc/self/fd/5/x, or if PATH begins with /dev/fd/N.
 * In this case RET_LINK is the path of the link below /proc, such as 12/fd/5, with the caller's
 * numbers instead of "self" or "thread-self". RET_REST is the rest of PATH without leading
 * slashes. */
bool caller_owns_link(const struct caller *c, const char *path, char ret_link[CALLER_LINK_BYTES],
		      const char **ret_rest);
