/*
 * Control groups that sandboxes left behind. A supervisor that is killed leaves its groups to the next
 * command that names its sandbox; when the whole state directory was deleted meanwhile, nobody is left
 * to do it. Looking changes nothing.
 */
#pragma once

#include <stdbool.h>

#define GROUPS_ID_BYTES 17      /* 16 hex digits and the terminator: home_machine_id() */
#define GROUPS_START_SECONDS 60 /* one as old as this and empty belongs to no sandbox that starts */
#define GROUPS_PREFIX "cordon-" /* … and the ID is its name */

/* Calls SEEN for every group of ours; IDLE: no process is in it and it is older than a start takes. A
 * sandbox has groups in several hierarchies, is reported for each, and lives while one is not idle. */
void groups_find(void (*seen)(void *arg, const char *id, bool idle), void *arg);
