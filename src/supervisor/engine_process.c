/*
 * The process engine: a sandbox is our pid 1 in its own namespaces (process/process.h).
 *
 * The supervisor calls begin(), prepare(), start(), boot() and ready(), in this order. It may call
 * done() at any time.
 *
 * The kernel's overlay unites the layers. If the kernel refuses, fuse-overlayfs unites them.
 * prepare() chooses fuse-overlayfs if earlier starts or the layers themselves show that the overlay
 * cannot be used (must_be_served() in engine_process_rootfs.c). Otherwise this file tries the
 * overlay. start() may find that the ids of a layer cannot be mapped, and boot() may find that the
 * child cannot mount the overlay. Each then starts a second child with fuse-overlayfs. No request
 * of a client is lost: boot() sends the sockets of the clients to pid 1, and has sent nothing to
 * the first child.
 */
#include "supervisor/engine_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/program.h"
#include "host/own_ids.h"
#include "process/fuse_overlay.h"
#include "state/range.h"
#include "supervisor/network.h"
#include "supervisor/systemd_scope.h"

/* how many descriptors the table gets room for: enough for an image of a hundred layers; the table
 * takes 2 KiB */
#define DESCRIPTORS_AHEAD 256
/* the gateway's id, counted from the first id of the sandbox's own range: the user `nobody` inside,
 * and no user of the host */
#define GATEWAY_ID 65534
#define CGROUP_ROOT "/sys/fs/cgroup"

/* --- start ------------------------------------------------------------------------------------ */

/* Makes the table of descriptors large before process_begin_early() starts a task that shares the
 * table. If a shared table grows, the kernel waits until every CPU has noticed, which takes 10 to
 * 30 ms. Each layer and each volume takes two descriptors. */
static void make_room(void)
{
	int last = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, DESCRIPTORS_AHEAD - 1);

	fd_closep(&last);
}

static void begin(struct supervisor *s)
{
	struct engine_process *p = xcalloc(1, sizeof(*p));

	s->instance = &p->instance;
	p->mount_points = MOUNT_POINTS_NONE;
	p->lowest_layer = -1;
	p->parent_mounts = p->disks.may_mount = own_ids_may_mount();
	process_init(&p->process);
	if (!ids_have_range(p))
		return;
	make_room();
	process_begin_early(&p->process);
}

static int open_guest_program(const struct engine_process *p, int *ret_fd, struct err *e)
{
	AUTO_FREE char *path = NULL;

	if (program_ours("cordon-guest", &path, e) < 0)
		return -1;
	return process_guest_program(path, p->parent_mounts, ret_fd, e);
}

static bool has_explicit_limit(const struct spec *spec)
{
	return spec->memory_set || spec->cpus_set || spec->pids_set;
}

/* Returns the ids to which the gateway changes. They belong to the range of the sandbox and to no
 * user of the host, so the gateway loses the privileges of root. If we may not use such ids, the
 * member `set` is false, and the gateway keeps our ids. */
static struct network_ids gateway_ids(const struct ids *i)
{
	bool ours = i->mode == IDS_RANGE || (i->mode == IDS_SUBID && i->direct);

	return (struct network_ids){ .set = ours,
				     .uid = i->uid_base + GATEWAY_ID,
				     .gid = i->gid_base + GATEWAY_ID };
}

static void copy_addresses(const struct lease *from, struct netif *to)
{
	memcpy(to->guest_mac, from->guest_mac, sizeof(to->guest_mac));
	memcpy(to->gateway_mac, from->gateway_mac, sizeof(to->gateway_mac));
	memcpy(to->guest_v4, from->guest_v4.b, sizeof(to->guest_v4));
	memcpy(to->gateway_v4, from->gateway_v4.b, sizeof(to->gateway_v4));
	memcpy(to->guest_v6, from->guest_v6.b, sizeof(to->guest_v6));
	memcpy(to->gateway_v6, from->gateway_v6.b, sizeof(to->gateway_v6));
}

/* If the sandbox has a network, tells the network the gateway's ids. Then fills the request with
 * the addresses of the sandbox's interface eth0, with the text of /etc/resolv.conf and with a line
 * for /etc/hosts. The request also says who makes the interface (`tap`). */
static void prepare_link(struct supervisor *s, struct engine_process *p)
{
	struct engine_process_start *t = p->start;
	struct process_request *q = &t->request;

	if (!s->network)
		return;
	network_set_ids(s->network, gateway_ids(&p->ids));
	copy_addresses(network_lease(s->network), &t->netif);
	network_resolv_conf(s->network, &t->resolv_conf);
	network_hosts_line(s->network, &t->hosts_line);
	q->netif = &t->netif;
	q->tap = p->parent_mounts && p->ids.mode == IDS_RANGE &&
		 access(TUN_DEVICE, R_OK | W_OK) == 0;
	q->rootfs.resolv_conf = buf_str(&t->resolv_conf);
	q->rootfs.hosts_line = buf_str(&t->hosts_line);
}

static int prepare(struct supervisor *s, struct err *e)
{
	struct engine_process *p = engine_process_of(s);
	struct engine_process_start *t = p->start = xcalloc(1, sizeof(*t));
	struct process_request *q = &t->request;

	q->guest_program = q->fuse_overlay_program = -1;
	buf_init(&t->resolv_conf, 1024);
	buf_init(&t->hosts_line, 256);
	root_init(s, &q->rootfs);
	s->stage = "config";
	if (ids_choose(s, e) < 0 || open_guest_program(p, &q->guest_program, e) < 0)
		return -1;
	home_machine_id(&s->home, s->record.spec.name, t->group_id);
	q->cgroup_id = t->group_id;
	/* If the scope does not exist yet, systemd needs time to make it. We wait for that in two
	 * cases: the user asked for limits, or no client waits for its first command. Otherwise we
	 * go on without the scope. */
	systemd_scope_enter(t->group_id, !s->attended || has_explicit_limit(&s->record.spec));
	q->limits = limits_of(&s->record.spec);
	s->stage = "network";
	prepare_link(s, p);
	return process_begin(q, &p->process, e) < 0 ? -1 : root_open(s, &q->rootfs, e);
}

static int start_process(struct engine_process *p, struct err *e)
{
	struct process_request *q = &p->start->request;
	int r;

	if (q->rootfs.served && fuse_overlay_program(&q->fuse_overlay_program, e) < 0)
		return -1;
	r = process_start(q, &p->process, e);
	fd_closep(&q->fuse_overlay_program);
	p->instance =
		(struct engine_instance){ p->process.pid, p->process.pidfd, p->process.channel };
	return r;
}

/* Starts again with fuse-overlayfs, if it is installed. E says why the kernel cannot unite the
 * layers. */
static int start_again(struct supervisor *s, struct err *e)
{
	struct engine_process *p = engine_process_of(s);
	struct process_request *q = &p->start->request;

	if (!fuse_overlay_is_there())
		return -1;
	log_line(LOG_INFO, "fuse-overlayfs serves the root: %s", e->msg);
	*e = (struct err){ 0 };
	process_done(&p->process);
	process_init(&p->process);
	q->rootfs.served = true;
	if (layer_clean(&q->rootfs, e) < 0 || process_begin(q, &p->process, e) < 0)
		return -1;
	return start_process(p, e);
}

static int start(struct supervisor *s, struct err *e)
{
	struct engine_process *p = engine_process_of(s);

	if (start_process(p, e) == 0)
		return 0;
	return p->process.unmappable ? start_again(s, e) : -1;
}

static void explain(struct supervisor *s, const char **ret_stage, struct err *e)
{
	struct engine_process *p = engine_process_of(s);

	/* the result is always -1: the call only fills E */
	IGNORE(process_failure(&p->process, e));
	*ret_stage = process_failed_stage(&p->process);
}

/* Notes in the home that the kernel refuses the overlay, so that later starts need not try it. If
 * the note cannot be written, later starts try again. If a directory or a disk of the user is a
 * layer, writes no note: the kernel may refuse the overlay because of its file system. */
static void remember_refusal(struct supervisor *s)
{
	const struct spec_image *image = &s->record.spec.image;
	bool users = image->kind == IMAGE_DIR || image->root_disk.kind == ROOT_DISK_PATH;
	bool memory = strcmp(engine_process_of(s)->layer, LAYER_MEMORY) == 0;
	enum home_served served = memory ? HOME_SERVED_ALL : HOME_SERVED_ON_DISK;
	struct err ignored;

	if (!users && served > s->home.served)
		IGNORE(home_set_served(&s->home, served, &ignored));
}

/* Waits until the child has mounted its root. If the kernel refuses the overlay, starts again with
 * fuse-overlayfs. */
static int await_root(struct supervisor *s, struct err *e)
{
	struct engine_process *p = engine_process_of(s);

	if (!process_overlay_refused(&p->start->request, &p->process))
		return 0;
	explain(s, &s->stage, e);
	if (start_again(s, e) < 0)
		return -1;
	s->stage = "other";
	remember_refusal(s);
	return 0;
}

/* Ends the sandbox because fuse-overlayfs has ended: every file operation in the sandbox now
 * fails. */
static void on_fuse_gone(void *arg, int fd, uint32_t events)
{
	struct supervisor *s = arg;
	struct engine_process *p = engine_process_of(s);
	struct process_instance *gone = p->process.fuse;
	struct err e;

	for (unsigned i = 0; i < ARRAY_SIZE(p->fuse_watch); i++)
		loop_remove(s->loop, &p->fuse_watch[i]);
	while (gone->fuse && gone->pidfd != fd)
		gone = gone->fuse;
	/* the result is always -1: the call only fills E */
	IGNORE(fuse_overlay_failure(gone, &e));
	supervisor_lost(s, &e);
}

static int watch_fuse(struct supervisor *s, struct err *e)
{
	struct engine_process *p = engine_process_of(s);
	struct process_instance *fuse = p->process.fuse;

	for (unsigned i = 0; fuse && i < ARRAY_SIZE(p->fuse_watch); fuse = fuse->fuse, i++) {
		p->fuse_watch[i] = loop_add_fd(s->loop, fuse->pidfd, LOOP_READ, on_fuse_gone, s);
		if (!p->fuse_watch[i])
			return err_sys(e, errno, "watch the sandbox");
	}
	return 0;
}

static void close_sources(struct engine_process *p)
{
	if (!p->start)
		return;
	fd_closep(&p->start->request.guest_program);
	root_close(&p->start->request.rootfs);
	buf_done(&p->start->resolv_conf);
	buf_done(&p->start->hosts_line);
	fd_closep(&p->process.cgroup.v2_enclosed);
}

static int boot(struct supervisor *s, struct boot_message *boot, struct err *e)
{
	if (await_root(s, e) < 0 || limits_apply(s, boot, e) < 0 || boot_send(s, boot, e) < 0 ||
	    watch_fuse(s, e) < 0)
		return -1;
	close_sources(engine_process_of(s));
	return 0;
}

/* --- life ------------------------------------------------------------------------------------- */

static int allow_groups(const struct cgroup *c, struct confine_files *f, struct err *e)
{
	const uint64_t rights = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR |
				LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR;

	if (c->v2_home < 0 && c->n_v1 == 0)
		return 0;
	if (c->v2_home >= 0 && confine_files_allow(f, c->v2_home, rights, e) < 0)
		return -1;
	for (unsigned i = 0; i < c->n_v1; i++)
		if (confine_files_allow(f, c->v1[i], rights, e) < 0)
			return -1;
	for (unsigned i = 0; i < CGROUP_SEEN_COUNT; i++)
		if (c->seen[i] >= 0 && confine_files_allow(f, c->seen[i], rights, e) < 0)
			return -1;
	/* to remove a group we need this right on the directory above it. The right does no harm to
	 * groups of others: the kernel removes only empty groups */
	return confine_files_allow_path(f, CGROUP_ROOT, LANDLOCK_ACCESS_FS_REMOVE_DIR, e);
}

/* Adds to F the files that we need after we have confined ourselves. While the sandbox lives and at
 * its end, these are its control groups. At the end, they are also the directories of the user from
 * which we must remove our mount points, and the table of id ranges, if we must give our range
 * back. */
static int confine(const struct supervisor *s, struct confine_files *f, struct err *e)
{
	const struct engine_process *p = engine_process_of(s);

	if (allow_groups(&p->process.cgroup, f, e) < 0)
		return -1;
	if (mount_points_confine(&p->mount_points, f, e) < 0 ||
	    nested_confine(&p->nested, f, e) < 0)
		return -1;
	return p->ids.mode == IDS_RANGE && supervisor_may_vanish(s) ? range_keep(f, e) : 0;
}

static void ready(struct supervisor *s)
{
	struct engine_process *p = engine_process_of(s);

	process_started(&p->process);
	free_p(&p->start);
}

static int take_link(struct supervisor *s, int *ret_fd, struct err *e)
{
	return process_take_link(&engine_process_of(s)->process, ret_fd, e);
}

static void adopt(const struct supervisor *s, pid_t pid)
{
	cgroup_join(&engine_process_of(s)->process.cgroup, pid);
}

static bool stop(struct supervisor *s, int signal)
{
	return supervisor_tell(s, FRAME_SHUTDOWN, (uint64_t)signal);
}

static void kill_all(struct supervisor *s)
{
	process_kill(&engine_process_of(s)->process);
}

static void done(struct supervisor *s)
{
	struct engine_process *p = engine_process_of(s);

	close_sources(p);
	for (unsigned i = 0; i < ARRAY_SIZE(p->fuse_watch); i++)
		loop_remove(s->loop, &p->fuse_watch[i]);
	process_done(&p->process);
	free_p(&p->start);
	disks_release(&p->disks);
	mount_points_leave(&s->home, &p->mount_points);
	nested_leave(&s->home, &p->nested);
	fd_closep(&p->lowest_layer);
	free(p);
	s->instance = NULL;
}

/* --- without an instance ---------------------------------------------------------------------- */

static void release(const struct home *h, const char *name, struct spec *spec)
{
	char id[HOME_ID_BYTES];
	struct err ignored;
	AUTO_FD root = -1;

	home_machine_id(h, name, id);
	cgroup_release(id);
	/* identity_open() fails if another directory is now at the path; that directory has none of
	 * our mount points */
	if (spec && spec_image_in_place(&spec->image) &&
	    identity_open(spec->image.reference, &spec->image.identity, &root, &ignored) == 0)
		mount_points_reap(h, root, LINKS_FOLLOWED);
	if (spec)
		nested_reap(h, spec);
}

static int run_as_owner(int (*work)(void *arg), void *arg, struct err *e)
{
	struct ids ids;

	if (geteuid() == 0)
		return work(arg);
	ids_of_user(&ids);
	return ids_run(&ids, work, arg, e);
}

const struct engine engine_process = {
	.begin = begin,
	.prepare = prepare,
	.start = start,
	.boot = boot,
	.confine = confine,
	.ready = ready,
	.link = take_link,
	.adopt = adopt,
	.update_limits = limits_update,
	.usage = limits_usage,
	.stop = stop,
	.kill = kill_all,
	.explain = explain,
	.done = done,
	.release = release,
	.run_as_owner = run_as_owner,
};
