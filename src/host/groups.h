/*
 * Control groups that sandboxes left behind. When a supervisor is killed, the next command that
 * names its sandbox removes its groups. If the whole state directory was deleted, no command
 * removes them. groups_find() finds such groups and changes nothing.
 */
#pragma once

#include <stdbool.h>

#define GROUPS_ID_BYTES 17      /* 16 hex digits and the terminator: home_machine_id() */
#define GROUPS_START_SECONDS 60 /* a start fills its group sooner than this */
#define GROUPS_PREFIX "cordon-" /* a group's name is this prefix and the ID */

/* Calls SEEN for every group of ours. IDLE means that no process is in the group, and that the
 * group is older than GROUPS_START_SECONDS. A sandbox has groups in several hierarchies, and SEEN
 * is called for each group. The sandbox lives as long as one of its groups is not idle. */
void groups_find(void (*seen)(void *arg, const char *id, bool idle), void *arg);
