/*
 * Finds the ids that a sandbox of this process can have. There are three cases:
 *
 *   range    root of the machine gives each sandbox a range of ids of its own
 *   sub      a user has a range in /etc/subuid, or the root of a container has a long enough map
 *   single   the sandbox has only the id of this process
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define OWN_IDS_COUNT 65536u /* how many ids a range or sub-range must have */

enum own_ids_kind { OWN_IDS_SINGLE, OWN_IDS_SUB };

struct own_ids {
	enum own_ids_kind kind;
	uint32_t uid_base, gid_base; /* SUB: the first ids of the sub-range */
	bool direct;                 /* SUB: we can write the maps ourselves, without newuidmap */
};

/* Returns true if we have CAP_SYS_ADMIN and are not in the user namespace of a container. */
bool own_ids_may_mount(void);
/* Returns true if we can give each sandbox its own range of ids. MAY_MOUNT is the result of
 * own_ids_may_mount(). */
bool own_ids_have_range(bool may_mount);
/* Finds the ids if own_ids_have_range() returned false. If a sandbox can have only a single id, WHY
 * says why, and may have a hint. */
void own_ids_find(struct own_ids *ret, struct err *why);
