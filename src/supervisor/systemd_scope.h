/*
 * Control groups for an ordinary user, from his own systemd.
 *
 * The group of a login belongs to root, so no limit can be set below it. The user's systemd has a part of
 * the tree that is the user's, and gives a piece of it away: a scope, a unit that has processes which
 * systemd did not start. One scope serves all sandboxes of a home. Supervisors live in a leaf of it, the
 * groups of their sandboxes beside that leaf; systemd removes the scope when the last process in it has
 * ended.
 *
 * A process that lives outside of the user's part of the tree cannot move itself in: the kernel wants a
 * right on the closest group above both places. So systemd does it, and is asked by D-Bus.
 */
#pragma once

#include <stdbool.h>

/* Moves this process into the scope of the home that ID, a name of process/cgroup.h, belongs to. WAITS:
 * a scope that is not there is asked for, and waited for. Otherwise only one that is there is taken. Does
 * nothing for root, on a machine without version 2 groups, without a bus, and where the caller lives in a
 * group that somebody gave him. Never fails: limits that do not hold are shown by who sets them. */
void systemd_scope_enter(const char *id, bool waits);
