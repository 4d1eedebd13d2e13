/*
 * Control groups for an ordinary user. The user's own systemd makes them.
 *
 * The control group of a login belongs to root, so the user cannot make groups with limits below
 * it. The user's systemd owns a part of the tree of groups, and can give away a piece of this part
 * as a scope. A scope is a unit whose processes systemd did not start. All sandboxes of a home
 * share one scope. Supervisors are in a leaf of the scope, and the groups of their sandboxes are
 * beside that leaf. Systemd removes the scope when the last process in it has ended.
 *
 * A process outside of the user's part of the tree cannot move itself into that part: the kernel
 * requires write permission on the closest group above both places. So we ask systemd over D-Bus to
 * move us.
 */
#pragma once

#include <stdbool.h>

/* Moves this process into the scope of a home. ID is the name of one of the home's control groups
 * (process/cgroup.h). If the scope does not exist and WAITS is true, asks systemd to make it and
 * waits. If the scope does not exist and WAITS is false, does nothing. Also does nothing in four
 * cases: this process is root's, the host has no version 2 groups, there is no bus, or the group of
 * this process is delegated. This function never fails: if limits are not enforced, the record says
 * so. */
void systemd_scope_enter(const char *id, bool waits);
