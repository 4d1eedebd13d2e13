#include "process/group_view.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"

static void add_view(struct group_views *v, enum group_view kind, int group)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
					       MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
				   .propagation = MS_PRIVATE };
	AUTO_FD tree = group < 0
			       ? -1
			       : sys_open_tree(group, "",
					       AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0 || sys_mount_setattr(tree, "", AT_EMPTY_PATH, &attr) < 0)
		return;
	v->kinds |= 1u << kind;
	v->fd[v->n++] = fd_take(&tree);
}

static int group_of(const struct cgroup *c, unsigned kind)
{
	for (unsigned i = 0; i < c->n_v1; i++)
		if (c->kind[i] == kind)
			return c->v1[i];
	return -1;
}

/* Returns true if the hierarchy of the open GROUP has the controller to which FILE belongs. */
static bool has_file(int group, const char *file)
{
	return group >= 0 && faccessat(group, file, F_OK, 0) == 0;
}

/* Adds the view KIND, which shows the controller `cpuacct` or `cpuset` of version 1. GROUP is
 * the sandbox's group in the hierarchy of this controller, and the view shows GROUP. Also adds the
 * file `tasks` of GROUP to v->join, because pid 1 has to join GROUP. If GROUP is -1, the controller
 * may be mounted together with `cpu`. CPU is the sandbox's group in the hierarchy `cpu`. If CPU has
 * FILE, a file of the controller, the view shows CPU. Commands join CPU anyway, so pid 1 need not
 * join it. */
static void add_seen(struct group_views *v, enum group_view kind, int group, int cpu,
		     const char *file)
{
	AUTO_FD tasks = group < 0 ? -1 : openat(group, "tasks", O_WRONLY | O_CLOEXEC);
	unsigned before = v->n;

	if (tasks < 0 && has_file(cpu, file))
		add_view(v, kind, cpu);
	if (tasks < 0)
		return;
	add_view(v, kind, group);
	if (v->n > before)
		v->join[v->n_joins++] = fd_take(&tasks);
}

void group_views_open(const struct cgroup *c, struct group_views *ret)
{
	int memory = group_of(c, CGROUP_MEMORY), cpu = group_of(c, CGROUP_CPU);

	*ret = (struct group_views){ 0 };
	if (memory >= 0 || cpu >= 0) {
		add_view(ret, GROUP_VIEW_MEMORY, memory);
		add_view(ret, GROUP_VIEW_CPU, cpu);
		add_seen(ret, GROUP_VIEW_CPUACCT, c->seen[CGROUP_CPUACCT], cpu, "cpuacct.usage");
		add_seen(ret, GROUP_VIEW_CPUSET, c->seen[CGROUP_CPUSET], cpu, "cpuset.cpus");
	} else if (c->v2_limits && (c->enforced[CGROUP_MEMORY] || c->enforced[CGROUP_CPU])) {
		add_view(ret, GROUP_VIEW_UNIFIED, c->v2_payload);
	}
}

void group_views_close(struct group_views *v)
{
	for (unsigned i = 0; i < v->n; i++)
		fd_closep(&v->fd[i]);
	for (unsigned i = 0; i < v->n_joins; i++)
		fd_closep(&v->join[i]);
	*v = (struct group_views){ 0 };
}
