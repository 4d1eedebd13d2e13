/*
 * Whose ids the files of an ordinary user's images get: id 0 is the caller, 1–65536 are the range
 * that host/subid.h finds for the caller. The engine that mounts the layers uses the same rule.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

#define OWNERS_SUBIDS 65536u
#define OWNERS_ID_MAX 65535u      /* the largest id that is kept */
#define OWNERS_ID_SQUASHED 65534u /* what larger ones become: nobody */

/* Gives process PID, which has just entered a user namespace, the caller's ids by newuidmap and
 * newgidmap. False when it must do with one id. */
bool owners_map(pid_t pid);
/* In that process, when the answer was false: maps 0 to the caller alone. 0 or -errno. */
MUST_USE int owners_map_self(uid_t uid, gid_t gid);
