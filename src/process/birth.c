#include "process/birth.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/securebits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/raw.h"

#define CHILD_STACK_BYTES 65536

/* Pid 1 gets no cgroup namespace of its own, because the root of that namespace would be the
 * supervisor's group. systemd mounts control groups with the option nsdelegate, and with this
 * option pid 1 could not move a command into a group outside of that root. Each command gets its
 * own cgroup namespace (guest/exec.c). */
#define NAMESPACES_OF_CLONE (CLONE_NEWUSER | CLONE_NEWPID)

void birth_prepare(struct process_instance *i, int parents_end, unsigned long namespaces, int go)
{
	i->child = plan_room(i->plan, sizeof(*i->child));
	*i->child = (struct child_args){
		.parents_end = parents_end,
		.namespaces = namespaces,
		.go = go,
		.plan = i->plan,
	};
	i->stack = plan_room(i->plan, CHILD_STACK_BYTES);
}

/* Clones the child and returns its pid or -errno. During the clone our effective user id is
 * i->owner, an id of the sandbox, and we keep our capabilities. So the child's user namespace
 * belongs to i->owner. The reason: what processes use in a user namespace (queued signals, inotify
 * instances, POSIX queues …) is also charged to the user who made the namespace. If root made the
 * namespace, one sandbox could use up what root may use on the whole machine. If we cannot change
 * our id, or i->owner is 0, we make the clone with our own id. */
static long clone_as_owner(const struct process_instance *i, struct clone_args *args)
{
	int bits = i->owner ? prctl(PR_GET_SECUREBITS) : -1;
	bool other = bits >= 0 && prctl(PR_SET_SECUREBITS, bits | SECBIT_NO_SETUID_FIXUP) == 0;
	uid_t self = geteuid();
	long pid;

	if (other)
		IGNORE(setresuid((uid_t)-1, i->owner, (uid_t)-1));
	pid = raw_clone_on_stack(args, child_run, i->child);
	/* If we cannot get our own id back, the supervisor ends. Then the child's channel closes,
	 * so the child ends too. */
	if (other &&
	    (setresuid((uid_t)-1, self, (uid_t)-1) < 0 || prctl(PR_SET_SECUREBITS, bits) < 0))
		return pid < 0 ? pid : -errno;
	return pid;
}

int birth_clone(struct process_instance *i, struct err *e)
{
	struct clone_args args = {
		.flags = NAMESPACES_OF_CLONE | CLONE_VM | CLONE_PIDFD | CLONE_PARENT_SETTID |
			 CLONE_CHILD_CLEARTID,
		.pidfd = (uintptr_t)&i->pidfd,
		.parent_tid = (uintptr_t)&i->child->overlay_pending,
		/* the kernel clears this word if the child dies */
		.child_tid = (uintptr_t)&i->child->overlay_pending,
		.exit_signal = SIGCHLD,
		.stack = (uintptr_t)i->stack,
		.stack_size = CHILD_STACK_BYTES,
	};
	sigset_t all, before;
	long pid;

	if (i->cgroup.v2_init >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)i->cgroup.v2_init;
	}
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = clone_as_owner(i, &args);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return ids_refused((int)-pid, e);
	i->pid = (pid_t)pid;
	return 0;
}

static int map_tree(int tree, int userns, enum tree_map_kind kind, struct err *e)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)userns };

	if (sys_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr) == 0)
		return 0;
	/* if the ids of a mount below the tree cannot be mapped, map only those of the topmost
	 * mount */
	if (sys_mount_setattr(tree, "", AT_EMPTY_PATH, &attr) == 0)
		return 0;
	/* An overlay (of a container, for example) and squashfs before Linux 6.2 cannot map ids.
	 * For MAP_FIXTURES this is no error: the files then appear in the sandbox with the owner
	 * `nobody`. */
	if (errno == EINVAL && kind == MAP_FIXTURES)
		return 0;
	err_sys(e, errno, "map the ids of a %s", kind == MAP_LAYER ? "layer" : "mount source");
	if (e->sys != EINVAL)
		return -1;
	if (kind != MAP_LAYER)
		return err_hint(e, "its file system cannot do that: keep volumes and root "
				   "directories on ext4, xfs or btrfs (tmpfs from Linux 6.3 on)");
	e->code = ERR_UNSUPPORTED;
	return err_hint(
		e, "the file system of CORDON_HOME, or of the image directory, cannot do that: "
		   "install the package 'fuse-overlayfs', or keep both on ext4, xfs or btrfs "
		   "(tmpfs from Linux 6.3 on)");
}

/* Returns true if the trees *A and *B can be mapped with the same user namespace. If each volume
 * had its own user namespace, a start with hundreds of volumes would take long. */
static bool same_owner(const struct tree_map *a, const struct tree_map *b)
{
	return a->uid == b->uid && a->gid == b->gid && a->inside_uid == b->inside_uid &&
	       a->inside_gid == b->inside_gid;
}

int birth_map_trees(const struct plan *p, const struct ids *ids, int whole,
		    const struct tree_map *maps, size_t n, struct err *e)
{
	const struct tree_map *last = NULL; /* the tree for which the namespace OWN was made */
	AUTO_FD own = -1;

	for (size_t k = 0; k < n; k++) {
		const struct tree_map *m = &maps[k];

		if (m->kind == MAP_OWNER && (!last || !same_owner(m, last))) {
			struct id_line uid = { m->uid, ids->uid_base + m->inside_uid, 1 };
			struct id_line gid = { m->gid, ids->gid_base + m->inside_gid, 1 };

			fd_closep(&own);
			if (ids_map_namespace(&uid, &gid, &own, e) < 0)
				return -1;
			last = m;
		}
		if (map_tree(p->tree[m->tree], m->kind == MAP_OWNER ? own : whole, m->kind, e) < 0)
			return -1;
	}
	return 0;
}
