/*
 * The parent's half of a start, in this order because of what depends on what (see
 * make_child_and_plan() for who is not root):
 *   1. if we are root, a task that makes the network namespace, even before we know what for
 *   2. the plan: all sources opened, all trees cloned and their ids mapped (they need our privilege
 *      and our view)
 *   3. cgroup v2 home, so that the clone is born in it (joining later waits for a grace period)
 *   4. the clone, as soon as there is the namespace; it shares our memory and waits for a byte
 *   5. its id maps, the rest of that task's work, and the byte; then, while it mounts, its cgroup limits
 */
#include "process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/fdpass.h"
#include "base/io.h"
#include "base/raw.h"
#include "process/birth.h"
#include "process/fuse_overlay.h"
#include "process/shares.h"

#define CHILD_STACK_BYTES 65536
#define OVERLAY_WAIT_S 10  /* a file system that hangs: its failure is seen later then */
#define GUEST_CHANNEL_FD 3 /* where pid 1 expects it */
#define GUEST_GROUP_FD 4   /* … and the group of its commands, if the child opened it */

/* No cgroup namespace: its root would be our own group, and where namespaces bound delegation (the
 * mount option nsdelegate, as systemd has it) pid 1 could then put no command into a group outside of
 * that. Commands get one each (guest/exec.c). */
#define NAMESPACES_OF_CLONE (CLONE_NEWUSER | CLONE_NEWPID)
/* … and those that the child makes itself, while its ids are being mapped. */
#define NAMESPACES_OF_CHILD (CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS)

void process_init(struct process_instance *i)
{
	*i = (struct process_instance){ .pid = -1,
					.pidfd = -1,
					.channel = -1,
					.link_from = -1,
					.link_report = -1,
					.link = -1 };
	cgroup_init(&i->cgroup);
}

static int sealed_copy(int from, off_t size, const char *path, int *ret_fd, struct err *e)
{
	AUTO_FD to = memfd_create("cordon-guest", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	off_t done = 0;

	if (to < 0)
		return err_sys(e, errno, "make a sealed copy of '%s'", path);
	while (done < size) {
		ssize_t n = sendfile(to, from, &done, (size_t)(size - done));

		if (n <= 0)
			return err_sys(e, n < 0 ? errno : EIO, "copy '%s'", path);
	}
	if (fcntl(to, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return err_sys(e, errno, "seal the copy of '%s'", path);
	*ret_fd = fd_take(&to);
	return 0;
}

/* Root's program, through a mount of its own that nothing inside can change: its pages are shared by
 * all sandboxes, and its owner is nobody in there. */
static int readonly_mount(const char *path, int *ret_fd)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
					       MOUNT_ATTR_NODEV };
	AUTO_FD tree = sys_open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0 || sys_mount_setattr(tree, "", AT_EMPTY_PATH, &attr) < 0)
		return -errno;
	*ret_fd = fd_take(&tree);
	return 0;
}

/* Only root can write to it; an access list that says otherwise would show in the group's bits. */
static bool is_roots_alone(const struct stat *st)
{
	return st->st_uid == 0 && (st->st_mode & S_IXOTH) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static int open_guest_program(const char *path, bool parent_mounts, int *ret_fd, struct err *e)
{
	AUTO_FD from = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (from < 0 || fstat(from, &st) < 0)
		return err_sys(e, errno, "open '%s'", path);
	if (parent_mounts && is_roots_alone(&st) && readonly_mount(path, ret_fd) == 0)
		return 0;
	if (geteuid() == 0 || !is_roots_alone(&st))
		return sealed_copy(from, st.st_size, path, ret_fd, e);
	*ret_fd = fd_take(&from);
	return 0;
}

int process_guest_program(const char *path, bool parent_mounts, int *ret_fd, struct err *e)
{
	AUTO_FD fd = -1;

	if (open_guest_program(path, parent_mounts, &fd, e) < 0)
		return -1;
	/* the child puts other descriptors at the numbers that pid 1 knows before it executes this one */
	*ret_fd =
		fd > GUEST_GROUP_FD ? fd_take(&fd) : fcntl(fd, F_DUPFD_CLOEXEC, GUEST_GROUP_FD + 1);
	return *ret_fd < 0 ? err_sys(e, errno, "keep '%s' open", path) : 0;
}

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

/* What is used in a user namespace (queued signals, inotify instances, POSIX queues …) counts for whoever
 * made it, too: for root it would be what is there for the whole machine. So for this one call we are an id
 * of the sandbox's, with all that we may. Where that cannot be done it is root's. */
static long clone_as_owner(const struct process_instance *i, struct clone_args *args)
{
	int bits = i->owner ? prctl(PR_GET_SECUREBITS) : -1;
	bool other = bits >= 0 && prctl(PR_SET_SECUREBITS, bits | SECBIT_NO_SETUID_FIXUP) == 0;
	uid_t self = geteuid();
	long pid;

	if (other)
		IGNORE(setresuid((uid_t)-1, i->owner, (uid_t)-1));
	pid = raw_clone_on_stack(args, child_run, i->child);
	/* if not: the child ends with its channel, as we do */
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
		.parent_tid = (uintptr_t)&i->child->rootless,
		.child_tid = (uintptr_t)&i->child->rootless, /* the kernel clears it if it dies */
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

static int clone_in_network(struct process_instance *i, struct err *e)
{
	int r;

	if (!i->netns)
		return birth_clone(i, e);
	if (netns_enter(i->netns, e) < 0)
		return -1;
	r = birth_clone(i, e);
	netns_leave(i->netns);
	return r;
}

static int map_tree(int tree, int userns, enum tree_map_kind kind, struct err *e)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)userns };

	if (sys_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr) == 0)
		return 0;
	/* a submount that cannot be mapped must not lose us the tree: map its top alone */
	if (sys_mount_setattr(tree, "", AT_EMPTY_PATH, &attr) == 0)
		return 0;
	/* a container's overlay, squashfs before 6.2 */
	if (errno == EINVAL && kind == MAP_FIXTURES)
		return 0;
	err_sys(e, errno, "map the ids of a %s", kind == MAP_LAYER ? "layer" : "mount source");
	if (e->sys != EINVAL)
		return -1;
	if (kind != MAP_LAYER)
		return err_hint(e, "its file system cannot do that: keep volumes and root "
				   "directories on ext4, xfs or btrfs (tmpfs from Linux 6.3 on)");
	e->code = ERR_UNSUPPORTED;
	return err_hint(e,
			"the file system of CORDON_HOME cannot do that: install the package "
			"'fuse-overlayfs', or keep CORDON_HOME on ext4, xfs or btrfs (tmpfs from "
			"Linux 6.3 on)");
}

int birth_map_trees(const struct plan *p, const struct ids *ids, int whole,
		    const struct tree_map *maps, size_t n, struct err *e)
{
	for (size_t k = 0; k < n; k++) {
		AUTO_FD own = -1;

		if (maps[k].kind == MAP_OWNER) {
			struct id_line uid = { maps[k].uid, ids->uid_base + maps[k].inside_uid, 1 };
			struct id_line gid = { maps[k].gid, ids->gid_base + maps[k].inside_gid, 1 };

			if (ids_map_namespace(&uid, &gid, &own, e) < 0)
				return -1;
		}
		if (map_tree(p->tree[maps[k].tree], own >= 0 ? own : whole, maps[k].kind, e) < 0)
			return -1;
	}
	return 0;
}

/* Trees show the payload its own ids: layers all of them, volumes one owner. */
static int map_trees(struct process_instance *i, const struct ids *ids, const struct tree_map *maps,
		     size_t n, struct err *e)
{
	struct id_line uid = { 0, ids->uid_base, IDS_PER_SANDBOX };
	struct id_line gid = { 0, ids->gid_base, IDS_PER_SANDBOX };
	AUTO_FD whole = -1;

	if (!i->mapping)
		return 0;
	if (ids_map_held(i->mapping, &uid, &gid, &whole, e) < 0)
		return -1;
	holder_release(i->mapping);
	if (birth_map_trees(i->plan, ids, whole, maps, n, e) == 0)
		return 0;
	i->unmappable = e->code == ERR_UNSUPPORTED;
	return -1;
}

static int prepare_netif(struct process_instance *i, const struct process_request *r, struct err *e)
{
	int pair[2] = { -1, -1 };

	if (!r->netif)
		return 0;
	if (!r->tap && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, errno, "make channel");
	i->link_from = pair[0];
	i->link_report = pair[1];
	i->netif = plan_room(i->plan, sizeof(*i->netif));
	netif_job_init(i->netif, r->netif, true, pair[1]);
	return 0;
}

static void add_sysctl(struct plan *p, const char *path, const char *text)
{
	struct step *s = plan_add(p, STEP_SYSCTL);

	s->path = plan_str(p, path);
	s->text = plan_str(p, text);
	s->text_n = strlen(text);
}

/* The payload's groups, which the kernel wants in its own order (see ids.h for the maps): where that
 * cannot hold all of them, only root's. */
static void ping_groups(const struct ids *ids, unsigned *ret_first, unsigned *ret_last)
{
	*ret_first = *ret_last = ids_shift(ids);
	if (ids->mode == IDS_RANGE)
		*ret_last = IDS_PER_SANDBOX;
	else if (ids->mode == IDS_SUBID && ids->caller_gid < ids->gid_base)
		*ret_last = IDS_PER_SANDBOX - 1;
}

/* Where it was not made ahead. */
static void add_network(struct process_instance *i, const struct ids *ids)
{
	struct netns_sysctl sysctl[NETNS_SYSCTLS];
	unsigned first, last;

	ping_groups(ids, &first, &last);
	netns_sysctls(sysctl, first, last);
	for (unsigned k = 0; k < NETNS_SYSCTLS; k++)
		add_sysctl(i->plan, sysctl[k].path, sysctl[k].text);
	plan_add(i->plan, STEP_LOOPBACK);
	if (i->link_from >= 0)
		plan_add(i->plan, STEP_NETIF)->netif = i->netif;
}

static bool may_make_ahead(const struct process_request *r)
{
	return r->rootfs.parent_mounts && r->rootfs.ids->mode == IDS_RANGE && (!r->netif || r->tap);
}

/* Namespaces that come up while the plan is made, or before. */
static int begin_mapping(struct process_instance *i, struct err *e)
{
	struct holder *h;
	int err;

	if (i->mapping)
		return 0;
	h = plan_room(i->plan, sizeof(*h));
	err = holder_start(h);
	if (err < 0)
		return ids_refused(-err, e);
	i->mapping = h;
	return 0;
}

static int begin_network(struct process_instance *i, struct err *e)
{
	struct netns *n;

	if (i->netns)
		return 0;
	n = plan_room(i->plan, sizeof(*n));
	if (netns_begin(n, e) < 0)
		return -1;
	i->netns = n;
	return 0;
}

static int order_network(struct process_instance *i, const struct process_request *r, struct err *e)
{
	unsigned base = r->rootfs.ids->gid_base;

	if (!may_make_ahead(r)) {
		if (i->netns)
			netns_done(TAKE(i->netns));
		return 0;
	}
	if (begin_network(i, e) < 0)
		return -1;
	netns_order(i->netns, i->netif, base, base + IDS_PER_SANDBOX - 1);
	return 0;
}

static int finish_network(struct process_instance *i, struct err *e)
{
	if (!i->netns)
		return 0;
	if (netns_finish(i->netns, e) < 0)
		return -1;
	i->link = fd_take(&i->netns->link);
	return 0;
}

/* The place of /dev/fuse in the child's table, and a socket to send it home. */
struct serving {
	int home, theirs, device;
};

static void serving_done(struct serving *v)
{
	fd_closep(&v->home);
	fd_closep(&v->theirs);
	fd_closep(&v->device);
}
#define AUTO_SERVING __attribute__((cleanup(serving_done))) struct serving

static int prepare_serving(const struct process_request *r, struct serving *ret, struct err *e)
{
	int pair[2];

	if (!r->rootfs.served)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, errno, "make channel");
	ret->home = pair[0];
	ret->theirs = pair[1];
	ret->device = fcntl(ret->theirs, F_DUPFD_CLOEXEC, 3);
	return ret->device < 0 ? err_sys(e, errno, "make channel") : 0;
}

static int serve(struct process_instance *i, const struct process_request *r, struct serving *v,
		 struct err *e)
{
	unsigned n_fds = 0;
	AUTO_FD device = -1;
	char byte;
	ssize_t n;

	fd_closep(&v->theirs); /* so that its end is seen */
	fd_closep(&v->device);
	n = fdpass_recv(v->home, &byte, 1, &device, 1, &n_fds);
	if (n < 0)
		return err_sys(e, (int)-n, "receive '" FUSE_DEVICE "'");
	if (n == 0 || n_fds == 0)
		return 0; /* a child that failed says why in its report */
	if (fuse_overlay_start(r, device, &i->fuse, e) < 0)
		return -1;
	for (struct process_instance *s = i->fuse; s; s = s->fuse)
		cgroup_join(&i->cgroup, s->pid);
	return 0;
}

/* Pid 1 gets the group of its commands as a mount of its own, whose `..` leads nowhere. If we may not mount,
 * the child makes it in its own mount namespace. */
static int add_group(struct process_instance *i, int *ret_tree, struct err *e)
{
	int payload = cgroup_payload(&i->cgroup);

	if (payload < 0)
		return 0;
	if (plan_clone_tree(i->plan, payload, 0, ret_tree, e) < 0)
		return err_wrap(e, "the group of commands");
	return 0;
}

/* May an id of the sandbox's make its outer user namespace? See clone_as_owner(). */
static bool has_own_share(const struct process_request *r)
{
	return r->rootfs.ids->mode == IDS_RANGE && !r->rootfs.served;
}

static int make_plan(struct process_instance *i, const struct process_request *r, int guest_end,
		     const struct serving *serving, struct tree_map *maps, size_t *ret_n_maps,
		     struct err *e)
{
	struct step *s;
	int group = -1;

	if (r->rootfs.ids->mode != IDS_SINGLE)
		plan_add(i->plan, STEP_GROUPS);
	if (serving->device >= 0) { /* as the caller, who has the right to */
		s = plan_add(i->plan, STEP_DEVICE);
		s->path = plan_str(i->plan, FUSE_DEVICE);
		s->fd = serving->device;
		s->mode = (unsigned)serving->theirs;
	}
	/* until then we are an id the namespace does not know, and could make no file */
	plan_add(i->plan, STEP_IDS)->mode = ids_shift(r->rootfs.ids);
	shares_plan(i->plan, has_own_share(r));
	if (!i->netns)
		add_network(i, r->rootfs.ids);
	if (!r->rootfs.parent_mounts && add_group(i, &group, e) < 0)
		return -1;
	if (rootfs_plan(&r->rootfs, serving->device, i->plan, maps, ret_n_maps, e) < 0)
		return -1;
	plan_add(i->plan, STEP_IDS)->mode =
		0; /* only the namespace's root keeps capabilities over exec */
	s = plan_add(i->plan, STEP_KEEP);
	s->fd = guest_end;
	s->mode = GUEST_CHANNEL_FD;
	if (group >= 0) {
		s = plan_add(i->plan, STEP_KEEP);
		s->tree = group;
		s->mode = GUEST_GROUP_FD;
	}
	s = plan_add(i->plan, STEP_EXEC);
	s->fd = r->guest_program;
	s->envp = shares_environment(i->plan, has_own_share(r), r->limits.pids);
	return plan_check(i->plan, e);
}

static int plan_and_map(struct process_instance *i, const struct process_request *r, int guest_end,
			const struct serving *serving, struct err *e)
{
	struct tree_map *maps = plan_room(i->plan, TREE_MAPS_MAX * sizeof(*maps));
	size_t n_maps = 0;

	if (make_plan(i, r, guest_end, serving, maps, &n_maps, e) < 0)
		return -1;
	return map_trees(i, r->rootfs.ids, maps, n_maps, e);
}

static int make_child(struct process_instance *i, const struct process_request *r, int guest_end,
		      struct err *e)
{
	cgroup_prepare(&i->cgroup, r->cgroup_id);
	if (has_own_share(r))
		i->owner = r->rootfs.ids->uid_base + IDS_PER_SANDBOX - 1;
	birth_prepare(i, i->channel, NAMESPACES_OF_CHILD | (i->netns ? 0 : CLONE_NEWNET),
		      guest_end);
	return clone_in_network(i, e);
}

/* The ids of a child that is gone cannot be mapped: what it died of is the reason. */
static int namespaces_refused(const struct process_instance *i, struct err *e)
{
	return i->child->report.err ? ids_refused(i->child->report.err, e) : -1;
}

/* A child that is given trees must be born after they were opened. One that opens them itself is made
 * first: the plan is made while programs map its ids, which takes them as long as all the rest. */
static int make_child_and_plan(struct process_instance *i, const struct process_request *r,
			       int guest_end, const struct serving *serving, struct err *e)
{
	bool plan_first = r->rootfs.parent_mounts;
	struct ids_writing maps;
	struct err ignored;
	int k;

	if (plan_first && plan_and_map(i, r, guest_end, serving, e) < 0)
		return -1;
	if (make_child(i, r, guest_end, e) < 0)
		return -1;
	k = ids_begin_maps(r->rootfs.ids, i->pid, &maps, e);
	if (k < 0)
		return namespaces_refused(i, e);
	if (!plan_first)
		k = plan_and_map(i, r, guest_end, serving, e);
	return ids_end_maps(&maps, k < 0 ? &ignored : e) < 0 && k == 0 ? namespaces_refused(i, e)
								       : k;
}

void process_ahead(struct process_instance *ret)
{
	struct err later; /* process_begin() tries again, and tells */

	ret->plan = plan_new();
	if (begin_network(ret, &later) == 0)
		IGNORE(begin_mapping(ret, &later));
}

int process_begin(const struct process_request *r, struct process_instance *ret, struct err *e)
{
	if (!ret->plan)
		ret->plan = plan_new();
	if (prepare_netif(ret, r, e) < 0 || order_network(ret, r, e) < 0)
		return -1;
	return r->rootfs.ids->mode == IDS_RANGE ? begin_mapping(ret, e) : 0;
}

int process_start(const struct process_request *r, struct process_instance *ret, struct err *e)
{
	const struct ids *ids = r->rootfs.ids;
	AUTO_SERVING serving = { -1, -1, -1 };
	int pair[2] = { -1, -1 };
	AUTO_FD guest_end = -1;
	int k;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, errno, "make channel");
	ret->channel = pair[0];
	guest_end = pair[1];
	if (prepare_serving(r, &serving, e) < 0 ||
	    make_child_and_plan(ret, r, guest_end, &serving, e) < 0)
		return -1;
	fd_closep(&ret->link_report); /* the child's */
	if (finish_network(ret, e) < 0)
		return -1;
	if (write(ret->channel, "g", 1) != 1)
		return err_sys(e, errno, "release the child");
	cgroup_limit(&ret->cgroup, &r->limits,
		     ids->mode == IDS_RANGE ? ids->uid_base + IDS_PER_SANDBOX : geteuid(),
		     ids->mode == IDS_RANGE ? ids->gid_base + IDS_PER_SANDBOX : getegid());
	/* where v2 only kills, a gateway needs none: it ends with its supervisor */
	if (r->rootfs.served || (r->netif && ret->cgroup.v2_limits))
		cgroup_make_beside(&ret->cgroup);
	k = r->rootfs.parent_mounts ? cgroup_enclose(&ret->cgroup) : 0;
	if (k < 0)
		return err_sys(e, -k, "clone the group of commands");
	return r->rootfs.served ? serve(ret, r, &serving, e) : 0;
}

const char *process_failed_stage(const struct process_instance *i)
{
	if (!i->child || !i->child->report.err || i->child->report.step < 0)
		return "other";
	switch (i->plan->step[i->child->report.step].op) {
	case STEP_LOOPBACK:
	case STEP_NETIF:
	case STEP_SYSCTL:
		return "network";
	case STEP_HOSTNAME:
	case STEP_GROUPS:
	case STEP_IDS:
	case STEP_KEEP:
	case STEP_EXEC:
		return "other";
	default:
		return "mount";
	}
}

/* Not for want of room or memory: it would not do it another time either. */
static bool is_refusal(int errnum)
{
	return errnum == EINVAL || errnum == ENODEV || errnum == EPERM || errnum == EACCES ||
	       errnum == EOPNOTSUPP;
}

bool process_overlay_refused(const struct process_request *r, const struct process_instance *i)
{
	const struct timespec most = { .tv_sec = OVERLAY_WAIT_S };
	const struct child_report *report = &i->child->report;
	int task, timed_out = 0;

	if (!rootfs_is_overlay(&r->rootfs))
		return false;
	while (!timed_out && (task = __atomic_load_n(&i->child->rootless, __ATOMIC_ACQUIRE)) != 0)
		timed_out =
			RAW4(SYS_futex, &i->child->rootless, FUTEX_WAIT, task, &most) == -ETIMEDOUT;
	return report->err && report->step >= 0 && i->plan->step[report->step].op == STEP_OVERLAY &&
	       is_refusal(report->err);
}

int process_failure(struct process_instance *i, struct err *e)
{
	int status = 0;

	while (i->pid > 0 && waitpid(i->pid, &status, 0) < 0 && errno == EINTR)
		;
	i->pid = -1;
	if (i->child && i->child->report.err && i->child->report.step == CHILD_NAMESPACES)
		return ids_refused(i->child->report.err, e);
	if (i->child && i->child->report.err && i->child->report.step == CHILD_WAIT)
		return err_sys(e, i->child->report.err, "wait for id maps");
	if (i->child && i->child->report.err) {
		const struct step *s = &i->plan->step[i->child->report.step];
		const char *what = s->path ? s->path : "";

		err_sys(e, i->child->report.err, "%s%s%s%s", step_name(s->op), *what ? " '" : "",
			what, *what ? "'" : "");
		if (i->fuse && (e->sys == ENOTCONN || e->sys == ECONNABORTED))
			return fuse_overlay_failure(i->fuse, e);
		if (s->op == STEP_BELOW && e->sys == EBUSY)
			return err_hint(e, "a link in the image leads from there to its root: "
					   "choose another target");
		if (s->op == STEP_DEVICE)
			return err_hint(e,
					"fuse-overlayfs, which serves the root where the "
					"kernel's overlay cannot, needs it: modprobe fuse, and in "
					"a container --device /dev/fuse");
		if (e->sys == ESTALE)
			return err_hint(e, "a mount source was replaced while the sandbox started");
		if ((s->op == STEP_OVERLAY || s->op == STEP_MKDIR || s->op == STEP_DIR ||
		     s->op == STEP_FILE) &&
		    (e->sys == ENOSPC || e->sys == EDQUOT))
			return err_hint(e, "the writable layer is full; make it larger: "
					   "cordon modify NAME --root-disk SIZE");
		if (s->op == STEP_MOUNT && e->sys == EPERM && strcmp(s->text, "proc") == 0)
			return err_hint(
				e, "parts of /proc are covered here, as container engines do, and "
				   "then the kernel mounts no fresh one; start the container with "
				   "--security-opt systempaths=unconfined (Docker) or "
				   "--security-opt unmask=ALL (Podman)");
		if (s->op == STEP_OVERLAY && is_refusal(e->sys))
			return err_hint(e, "the kernel's overlay does not do here (no module, a "
					   "file system it cannot use, or a kernel before 5.19 for "
					   "root): install the package 'fuse-overlayfs'");
		if (s->op == STEP_NETIF)
			return err_hint(e,
					"load the module: modprobe veth; or do without a network: "
					"--no-net");
		return -1;
	}
	if (WIFSIGNALED(status))
		return err_set(e, ERR_SYSTEM, "pid 1 was killed by signal %d while starting",
			       WTERMSIG(status));
	return err_set(e, ERR_SYSTEM, "pid 1 ended while starting (status %d)",
		       WEXITSTATUS(status));
}

void process_started(struct process_instance *i)
{
	if (i->fuse)
		process_started(i->fuse);
	if (i->mapping)
		holder_end(i->mapping);
	if (i->netns)
		netns_done(i->netns);
	plan_free(TAKE(i->plan)); /* and with it: */
	i->mapping = NULL;
	i->netns = NULL;
	i->netif = NULL;
	i->child = NULL;
	i->stack = NULL;
}

int process_take_link(struct process_instance *i, int *ret_link, struct err *e)
{
	if (i->link < 0 && netif_receive(i->link_from, &i->link, e) < 0)
		return -1;
	fd_closep(&i->link_from);
	*ret_link = fd_take(&i->link);
	return 0;
}

void process_kill(struct process_instance *i)
{
	if (i->pidfd >= 0)
		IGNORE(sys_pidfd_send_signal(i->pidfd, SIGKILL)); /* ESRCH: already gone */
}

void process_done(struct process_instance *i)
{
	fd_closep(&i->channel);
	fd_closep(&i->link_from);
	fd_closep(&i->link_report);
	fd_closep(&i->link);
	if (i->pid > 0) {
		process_kill(i);
		while (waitpid(i->pid, NULL, 0) < 0 && errno == EINTR)
			;
		i->pid = -1;
	}
	process_started(i); /* mounts that are nowhere, too: a server ends with the last */
	if (i->fuse)
		fuse_overlay_end(TAKE(i->fuse));
	fd_closep(&i->pidfd);
	if (i->cgroup.id[0])
		cgroup_clear(&i->cgroup);
	cgroup_done(&i->cgroup);
}
