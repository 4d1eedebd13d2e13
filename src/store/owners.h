/*
 * Which host ids own the files of an ordinary user's images: id 0 means the caller, and ids 1–65536
 * mean the range that host/subid.h finds for the caller. The engine that mounts the layers uses the
 * same rule.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

#define OWNERS_SUBIDS 65536u
#define OWNERS_ID_MAX 65535u      /* the largest id that is kept */
#define OWNERS_ID_SQUASHED 65534u /* larger ids become this id (nobody) */

/* Runs newuidmap and newgidmap to map the caller's ids into the user namespace that process PID has
 * just entered. Returns false if that fails. */
bool owners_map(pid_t pid);
/* Maps id 0 of this process to the caller and no other id. Used after owners_map() returned false.
 * Returns 0 or -errno. */
MUST_USE int owners_map_self(uid_t uid, gid_t gid);
