/*
 * The ids that a sandbox of this process can have:
 *
 *   range    root of the machine gives each sandbox a range of ids of its own
 *   sub      a user has a range in /etc/subuid, or the root of a container has a long enough map
 *   single   the sandbox has the caller's id only
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define OWN_IDS_COUNT 65536u /* ids that a range or sub-range must have */

enum own_ids_kind { OWN_IDS_RANGE, OWN_IDS_SUB, OWN_IDS_SINGLE };

struct own_ids {
	enum own_ids_kind kind;
	uint32_t uid_base, gid_base; /* SUB: the first ids of the sub-range */
	bool direct;                 /* SUB: no program is needed to write maps */
};

/* Returns true if we are root outside of containers and may mount. */
bool own_ids_may_mount(void);
/* Returns true if we can give each sandbox its own range of ids. MAY_MOUNT is the result of own_ids_may_mount(). */
bool own_ids_have_range(bool may_mount);
/* Finds the ids for a process that own_ids_have_range() refuses. WHY says why a sandbox has a single id only, with a
 * hint. */
void own_ids_find(struct own_ids *ret, struct err *why);
