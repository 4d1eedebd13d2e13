/*
 * Read-only mounts of the sandbox's control groups. Programs in the sandbox read their limits from
 * these mounts, as Java, Node, .NET and Go do. Pid 1 attaches the mounts below /sys/fs/cgroup. Each
 * group is a separate mount, so that `..` does not lead out of the group.
 *
 * With control groups of version 1, programs look for the hierarchies `memory`, `cpu`, `cpuacct`
 * and `cpuset`. They expect that their own process is in the group that they see. Commands join the
 * groups in `memory` and `cpu` anyway, for their limits. Pid 1 joins the groups in `cpuacct` and
 * `cpuset`, and commands inherit these two from pid 1 at no cost.
 */
#pragma once

#include "process/cgroup.h"
#include "wire/group_view.h"

struct group_views {
	unsigned kinds;           /* bit K is set if there is a mount of the enum group_view K */
	int fd[GROUP_VIEW_COUNT]; /* the mounts, in the order of the bits */
	unsigned n;
	int join[CGROUP_SEEN_COUNT]; /* the files `tasks` of the groups that pid 1 joins */
	unsigned n_joins;
};

/* Makes the mounts for the groups *C. Call this after cgroup_limit(), and only if we may mount.
 * With version 1, mounts are made only if *C has a group in `memory` or `cpu`. With version 2, a
 * mount is made only if memory or CPU time is limited. A mount that fails is left out. */
void group_views_open(const struct cgroup *c, struct group_views *ret);
void group_views_close(struct group_views *v);
