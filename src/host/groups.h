/*
 * Finds control groups that sandboxes left behind. If a supervisor is killed, the next command that
 * names its sandbox removes the sandbox's groups. If the whole home was deleted, no command removes
 * the groups. groups_find() reports all groups of sandboxes, so that the caller can find those that
 * were left behind. It changes nothing.
 */
#pragma once

#include <stdbool.h>

#define GROUPS_ID_BYTES 17 /* 16 hex digits (home_machine_id()) and the terminator */
/* a sandbox that starts has a process in its new group within this time */
#define GROUPS_START_SECONDS 60
#define GROUPS_PREFIX "cordon-" /* a group's name is this prefix and the ID */

/* Calls SEEN for every group of ours. IDLE says that no process is in the group, and that the
 * group is older than GROUPS_START_SECONDS. A sandbox may have groups in several hierarchies;
 * SEEN is called for each of them. The sandbox lives as long as one of its groups is not idle. */
void groups_find(void (*seen)(void *arg, const char *id, bool idle), void *arg);
