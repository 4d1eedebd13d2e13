/*
 * The parent's half of a start, in this order:
 *   1. if we are root, a task begins to make the network namespace, before we have the request
 *   2. the plan is made: we open all sources, clone all trees and map their ids, which needs our
 *      privileges and our view of the file system
 *   3. the v2 group of pid 1 is made, so that the child of step 4 is born in it: joining a group
 *      later would wait for an RCU grace period
 *   4. the child is cloned as soon as the network namespace exists; the child shares our memory and
 *      waits for a byte
 *   5. the child's ids are mapped, the network is finished, and the child gets the byte; while the
 *      child mounts, we set limits
 * If we are not root, step 2 comes after step 4: see make_child_and_plan().
 */
#include "process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/fdpass.h"
#include "base/io.h"
#include "base/raw.h"
#include "process/birth.h"
#include "host/container.h"
#include "process/fuse_overlay.h"
#include "process/shares.h"
#include "wire/guest_fd.h"

/* The child makes these namespaces itself, while we map its ids. */
#define NAMESPACES_OF_CHILD (CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS)

void process_init(struct process_instance *i)
{
	/* container_is_filtered() keeps the answer of the first call. So we make the first call
	 * now, before we set a filter of our own. */
	IGNORE(container_is_filtered());
	*i = (struct process_instance){ .pid = -1,
					.pidfd = -1,
					.channel = -1,
					.link_from = -1,
					.link_report = -1,
					.link = -1 };
	cgroup_init(&i->cgroup);
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

/* Maps the ids of the trees. The files of a layer can have any id of the sandbox. All files of a
 * volume have one owner. */
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
	netif_setup_init(i->netif, r->netif, true, pair[1]);
	return 0;
}

/* Returns the first and the last group of the payload that may ping, as outer ids (process/ids.h).
 * The kernel's setting for ping (ping_group_range) is one range of host ids. With IDS_SUBID this
 * range starts at the group of the user who runs cordon. If this group is above the groups from
 * /etc/subgid, only this group may ping. */
static void ping_groups(const struct ids *ids, unsigned *ret_first, unsigned *ret_last)
{
	*ret_first = *ret_last = ids_shift(ids);
	if (ids->mode == IDS_RANGE)
		*ret_last = IDS_PER_SANDBOX;
	else if (ids->mode == IDS_SUBID && ids->caller_gid < ids->gid_base)
		*ret_last = IDS_PER_SANDBOX - 1;
}

/* Adds the steps that make the network. Called only if no task of process/netns.h makes it. */
static void add_network(struct process_instance *i, const struct ids *ids)
{
	struct netns_sysctl sysctl[NETNS_SYSCTLS];
	unsigned first, last;

	ping_groups(ids, &first, &last);
	netns_sysctls(sysctl, first, last);
	for (unsigned k = 0; k < NETNS_SYSCTLS; k++)
		plan_sysctl(i->plan, sysctl[k].path, sysctl[k].text);
	plan_add(i->plan, STEP_LOOPBACK);
	if (i->link_from >= 0)
		plan_add(i->plan, STEP_NETIF)->netif = i->netif;
}

static bool may_make_ahead(const struct process_request *r)
{
	return r->rootfs.parent_mounts && r->rootfs.ids->mode == IDS_RANGE && (!r->netif || r->tap);
}

/* Starts a task that holds the user namespace with which the ids of layers are mapped.
 * ids_map_held() writes the maps of this namespace later. */
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

/* Both ends of the socket on which the child sends us /dev/fuse: `home` is ours, `theirs` is the
 * child's. `device` is the descriptor number that /dev/fuse gets in the child. */
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

	fd_closep(&v->theirs); /* close our copy, so that we notice when the child closes its own */
	fd_closep(&v->device);
	n = fdpass_recv(v->home, &byte, 1, &device, 1, &n_fds);
	if (n < 0)
		return err_sys(e, (int)-n, "receive '" FUSE_DEVICE "'");
	if (n == 0 || n_fds == 0)
		return 0; /* the child has failed, and its report says why */
	if (fuse_overlay_start(r, device, &i->fuse, e) < 0)
		return -1;
	for (struct process_instance *s = i->fuse; s; s = s->fuse)
		cgroup_join(&i->cgroup, s->pid);
	return 0;
}

/* Pid 1 gets a separate mount of the group of its commands, so that `..` does not lead out of the
 * group. If we may mount, cgroup_enclose() makes this mount. Otherwise this function adds the step
 * by which the child makes it in its own mount namespace. */
static int add_group(struct process_instance *i, int *ret_tree, struct err *e)
{
	int payload = cgroup_payload(&i->cgroup);

	if (payload < 0)
		return 0;
	if (plan_clone_tree(i->plan, payload, 0, ret_tree, e) < 0)
		return err_wrap(e, "the group of commands");
	return 0;
}

/* Returns true if the kernel charges what the sandbox uses to an id of the sandbox, and not to the
 * user who runs cordon (process/shares.h). For this, clone_as_owner() in process/birth.c makes the
 * sandbox's outer user namespace with an id of the sandbox. */
static bool has_own_share(const struct process_request *r)
{
	return r->rootfs.ids->mode == IDS_RANGE && !r->rootfs.served;
}

static int make_plan(struct process_instance *i, const struct process_request *r, int guest_end,
		     const struct serving *serving, struct tree_map *maps, size_t *ret_n_maps,
		     struct err *e)
{
	struct step *s;
	int group = -1, view = -1;

	if (r->rootfs.ids->mode != IDS_SINGLE)
		plan_add(i->plan, STEP_GROUPS);
	if (serving->device >= 0) { /* the child opens /dev/fuse before it changes its ids */
		s = plan_add(i->plan, STEP_DEVICE);
		s->path = plan_str(i->plan, FUSE_DEVICE);
		s->fd = serving->device;
		s->mode = (unsigned)serving->theirs;
	}
	/* until this step the child has an id that its namespace does not map, so it cannot make
	 * files */
	plan_ids(i->plan, ids_shift(r->rootfs.ids), ids_shift(r->rootfs.ids));
	shares_plan(i->plan, has_own_share(r));
	if (!i->netns)
		add_network(i, r->rootfs.ids);
	if (!r->rootfs.parent_mounts && add_group(i, &group, e) < 0)
		return -1;
	/* VIEW is the control group that the sandbox sees at /sys/fs/cgroup. If we may mount
	 * (parent_mounts), VIEW stays -1: the groups do not exist yet, and pid 1 attaches their
	 * mounts later (process/group_view.h). */
	if (!r->rootfs.parent_mounts && i->cgroup.v2_limits)
		view = cgroup_payload(&i->cgroup);
	if (rootfs_plan(&r->rootfs, serving->device, view, i->plan, maps, ret_n_maps, e) < 0)
		return -1;
	/* The child becomes root of its user namespace. With another id the child would lose its
	 * capabilities when it executes pid 1's program. */
	plan_ids(i->plan, 0, 0);
	plan_keep(i->plan, guest_end, GUEST_CHANNEL_FD);
	if (group >= 0)
		plan_keep(i->plan, -1, GUEST_GROUP_FD)->tree = group;
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

/* Called when mapping the ids of the child has failed, with the reason in *E. If the child has
 * failed too, replaces *E by the reason of the child's failure. Returns -1. */
static int namespaces_refused(const struct process_instance *i, struct err *e)
{
	return i->child->report.err ? ids_refused(i->child->report.err, e) : -1;
}

/* If we clone the trees, we make the child after that, so that it inherits the trees' descriptors.
 * If the child clones the trees, we make the child first, and make the plan while newuidmap runs:
 * newuidmap takes as long as everything else together. */
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

void process_begin_early(struct process_instance *ret)
{
	struct err later; /* not reported: process_begin() tries again and reports the error */

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
	fd_closep(&ret->link_report); /* the child has its own copy now */
	if (finish_network(ret, e) < 0)
		return -1;
	if (write(ret->channel, "g", 1) != 1)
		return err_sys(e, errno, "release the child");
	cgroup_limit(&ret->cgroup, &r->limits,
		     ids->mode == IDS_RANGE ? ids->uid_base + IDS_PER_SANDBOX : geteuid(),
		     ids->mode == IDS_RANGE ? ids->gid_base + IDS_PER_SANDBOX : getegid());
	if (r->rootfs.parent_mounts)
		cgroup_make_seen(&ret->cgroup);
	/* fuse-overlayfs and the gateway are helpers. If v2_limits is false, the v2 groups only
	 * serve to kill their members. The gateway needs no group for that, because it ends with
	 * its supervisor. */
	if (r->rootfs.served || (r->netif && ret->cgroup.v2_limits))
		cgroup_make_helpers(&ret->cgroup);
	k = r->rootfs.parent_mounts ? cgroup_enclose(&ret->cgroup) : 0;
	if (k < 0)
		return err_sys(e, -k, "clone the group of commands");
	return r->rootfs.served ? serve(ret, r, &serving, e) : 0;
}

void process_started(struct process_instance *i)
{
	if (i->fuse)
		process_started(i->fuse);
	if (i->mapping)
		holder_end(i->mapping);
	if (i->netns)
		netns_done(i->netns);
	/* the plan's memory held the objects to which the members below point */
	plan_free(TAKE(i->plan));
	i->mapping = NULL;
	i->netns = NULL;
	i->netif = NULL;
	i->child = NULL;
	i->stack = NULL;
}

int process_take_link(struct process_instance *i, int *ret_link, struct err *e)
{
	unsigned n_fds = 0;
	char byte;

	if (i->link < 0 &&
	    (fdpass_recv(i->link_from, &byte, 1, &i->link, 1, &n_fds) != 1 || n_fds == 0))
		return err_set(e, ERR_PROTOCOL, "the sandbox's link was not sent");
	fd_closep(&i->link_from);
	*ret_link = fd_take(&i->link);
	return 0;
}

void process_kill(struct process_instance *i)
{
	/* sending the signal 0 fails if pid 1 has ended; then every other process in the sandbox
	 * has ended too */
	if (i->pidfd < 0 || sys_pidfd_send_signal(i->pidfd, 0) < 0)
		return;
	cgroup_lift_cpu(&i->cgroup);
	IGNORE(sys_pidfd_send_signal(i->pidfd, SIGKILL)); /* pid 1 may have ended meanwhile */
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
	/* process_started() closes detached mounts; fuse-overlayfs ends when its last mount is
	 * gone */
	process_started(i);
	if (i->fuse)
		fuse_overlay_end(TAKE(i->fuse));
	fd_closep(&i->pidfd);
	if (i->cgroup.id[0])
		cgroup_release_open(&i->cgroup);
	cgroup_done(&i->cgroup);
}
