/*
 * Which host ids own the files of an ordinary user's images. A file that belongs to the id 0 in the
 * image belongs to the user on the host. A file that belongs to an id from 1 to OWNERS_ID_MAX in
 * the image belongs to an id of the range that host/subid.h finds for the user. The engine that
 * mounts the layers uses the same rule. There are two exceptions. If the range cannot be mapped,
 * all files belong to the user. If the ids are rotated, other ids have these places
 * (base/rotation.h).
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

#define OWNERS_SUBIDS 65536u
#define OWNERS_ID_MAX 65535u      /* the largest id that is kept */
#define OWNERS_ID_SQUASHED 65534u /* larger ids become this id (nobody) */

/* The process PID has just entered a new user namespace. Runs newuidmap and newgidmap, which map
 * the user's ids into this namespace. Returns false if that fails. */
bool owners_map(pid_t pid);
/* Maps only one id in the user namespace of this process: the id 0, to the user who runs cordon.
 * Call this if owners_map() has returned false. Returns 0 or -errno. */
MUST_USE int owners_map_self(uid_t uid, gid_t gid);
