/*
 * Read-only mounts of a sandbox's own control groups, for programs inside that ask for their limits, as Java, Node, .NET
 * and Go do. Pid 1 mounts them below /sys/fs/cgroup. Each is a mount of its own, so that `..` does not lead out of it.
 *
 * With version 1, programs look for the hierarchies memory, cpu, cpuacct and cpuset, and expect that their own process
 * is in the group that they see. Commands join the groups of memory and cpu anyway. Pid 1 joins the other two groups,
 * and commands inherit them at no cost.
 */
#pragma once

#include "process/cgroup.h"
#include "wire/group_view.h"

struct group_views {
	unsigned kinds;           /* one bit for each enum group_view */
	int fd[GROUP_VIEW_COUNT]; /* the mounts, in the order of the bits */
	unsigned n;
	int join[CGROUP_SEEN_COUNT]; /* files `tasks` of the groups that pid 1 joins */
	unsigned n_joins;
};

/* Makes the mounts for C, after cgroup_limit() and if we may mount. If no group limits anything, makes no mount. A
 * mount that fails is left out. */
void group_views_open(const struct cgroup *c, struct group_views *ret);
void group_views_close(struct group_views *v);
