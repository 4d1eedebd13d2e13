/*
 * Which host ids own the files of an ordinary user's images: id 0 is the caller, 1–65536 are the
 * range that host/subid.h finds for the caller. The engine that mounts the layers uses the same
 * rule.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

#define OWNERS_SUBIDS 65536u
#define OWNERS_ID_MAX 65535u      /* the largest id that is kept */
#define OWNERS_ID_SQUASHED 65534u /* larger ids become this one: nobody */

/* Maps the caller's ids into the user namespace that process PID has just entered, by newuidmap
 * and newgidmap. Returns false when that fails: the process then has one id. */
bool owners_map(pid_t pid);
/* To be called by that process if owners_map() returned false: maps id 0 to the caller and no
 * other. Returns 0 or -errno. */
MUST_USE int owners_map_self(uid_t uid, gid_t gid);
