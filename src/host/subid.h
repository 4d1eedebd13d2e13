/*
 * The ids that an ordinary user may map into a user namespace. /etc/subuid and /etc/subgid grant
 * ranges of ids to users. Two set-user-id programs, newuidmap and newgidmap, write the maps for the
 * user.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

/* enough for a list of 100000 users from a directory server */
#define SUBID_FILE_MAX_BYTES (4u << 20)
#define SUBID_PROGRAM_BYTES 64

struct subid_range {
	uint32_t start, count;
};

struct subid {
	struct subid_range uid, gid; /* each has at least as many ids as were asked for */
	char newuidmap[SUBID_PROGRAM_BYTES], newgidmap[SUBID_PROGRAM_BYTES]; /* absolute paths */
};

/* Finds the first range of at least WANT ids that TEXT grants to the name USER (which may be
 * NULL) or to the number UID. Returns 0, -ENOENT when no range is granted, or -ERANGE when every
 * granted range is shorter. Skips lines that are not NAME:START:COUNT, as newuidmap does. */
MUST_USE int subid_pick(struct str text, const char *user, uid_t uid, uint32_t want,
			struct subid_range *ret);
/* Finds the ranges of UID and the two programs. If something is missing, fails with
 * ERR_UNSUPPORTED, and the hint names a command that helps. */
MUST_USE int subid_find(uid_t uid, uint32_t want, struct subid *ret, struct err *e);
