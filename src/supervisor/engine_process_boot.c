/* Completes the message BOOT, and sends the message and its descriptors to pid 1. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "process/group_view.h"
#include "supervisor/engine_process.h"
#include "supervisor/network.h"

#define BOOT_USUAL_BYTES 1024

static bool is_disk(const struct spec_mount *m)
{
	return m->kind == MOUNT_DISK || (m->kind == MOUNT_NAMED && m->kind_disk);
}

/* Returns the switches that the mount M needs: SWITCH_SHARED, SWITCH_WRITABLE, both or none.
 *
 * A read-only mount of a directory may need SWITCH_SHARED, too. Another sandbox may be able to
 * write to the directory of M. That sandbox can make a socket in this directory, and pass writable
 * descriptors to a process of our sandbox that connects to the socket. With IDS_RANGE this does not
 * matter: two sandboxes have no id in common, so such descriptors are of no use. */
static unsigned brought_in(const struct ids *i, const struct spec_mount *m)
{
	if (!m->readonly)
		return SWITCH_SHARED | SWITCH_WRITABLE;
	return i->mode != IDS_RANGE && !m->identity.of_parent ? SWITCH_SHARED : 0u;
}

/* Fills BOOT->own_mount with the writable mounts that only this sandbox uses, and BOOT->own_device
 * with the devices of the disk images among them. Pid 1 lets commands make files with privileges
 * only in these mounts. Sets the switches that the root and the other mounts need. */
static void name_own_mounts(const struct rootfs *r, struct boot_message *boot)
{
	const struct spec *spec = r->spec;
	bool shared_root = spec_image_in_place(&spec->image);
	struct stat st;

	boot->switches |= shared_root ? SWITCH_SHARED | SWITCH_WRITABLE : 0;
	boot->own_mount = xcalloc(1 + spec->writable.n + spec->n_mounts, sizeof(*boot->own_mount));
	boot->own_device = xcalloc(1 + spec->n_mounts, sizeof(*boot->own_device));
	if (!shared_root)
		boot->own_mount[boot->n_own_mounts++] = "/";
	for (size_t i = 0; !shared_root && i < spec->writable.n; i++)
		boot->own_mount[boot->n_own_mounts++] = spec->writable.v[i];
	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct spec_mount *m = &spec->mount[i];

		if (m->kind != MOUNT_TMPFS && !is_disk(m)) {
			boot->switches |= brought_in(r->ids, m);
			continue;
		}
		if (m->readonly)
			continue;
		boot->own_mount[boot->n_own_mounts++] = m->guest;
		if (is_disk(m) && fstat(r->volume_fd[i], &st) == 0)
			boot->own_device[boot->n_own_devices++] =
				(uint64_t)major(st.st_dev) << 32 | minor(st.st_dev);
	}
}

static int send_boot(struct supervisor *s, struct boot_message *boot, struct err *e)
{
	const struct engine_process *p = engine_process_of(s);
	const struct cgroup *c = &p->process.cgroup;
	struct group_views views = { 0 };
	char room[BOOT_USUAL_BYTES];
	AUTO_BUF frame = BUF_IN(room, FRAME_BODY_MAX_BYTES);
	size_t at = frame_begin(&frame, FRAME_BOOT, 0, 0);
	int fds[FDPASS_MAX];
	AUTO_FD procs = -1;
	unsigned n = 0;
	int r;

	fds[n++] = s->guest_listener;
	boot->has_connection = s->connection >= 0;
	if (boot->has_connection)
		fds[n++] = s->connection;
	boot->has_cgroup = c->v2_enclosed >= 0;
	if (boot->has_cgroup)
		fds[n++] = c->v2_enclosed;
	procs = c->v2_payload < 0 || boot->has_cgroup
			? -1
			: openat(c->v2_home, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	boot->born_with_cgroup = procs >= 0;
	if (boot->born_with_cgroup)
		fds[n++] = procs;
	boot->has_oom = c->oom >= 0;
	if (boot->has_oom)
		fds[n++] = c->oom;
	boot->has_refusals = s->network && network_refusals(s->network) >= 0;
	if (boot->has_refusals)
		fds[n++] = network_refusals(s->network);
	boot->n_task_fds = c->n_v1;
	for (unsigned i = 0; i < c->n_v1; i++)
		fds[n++] = c->tasks[i];
	if (p->parent_mounts)
		group_views_open(c, &views);
	boot->group_views = views.kinds;
	for (unsigned i = 0; i < views.n; i++)
		fds[n++] = views.fd[i];
	boot->n_group_joins = views.n_joins;
	for (unsigned i = 0; i < views.n_joins; i++)
		fds[n++] = views.join[i];
	boot_encode(&frame, boot);
	frame_end(&frame, at);
	r = buf_failed(&frame) ? -EMSGSIZE
			       : fdpass_send(s->instance->channel, frame.p, frame.n, fds, n);
	group_views_close(&views);
	if (r == -EMSGSIZE)
		return err_set(e, ERR_LIMIT, "the environment of the sandbox is too large");
	if (r == 0)
		return 0;
	if (r != -EPIPE && r != -ECONNRESET)
		return err_sys(e, -r, "send pid 1 its configuration");
	/* the child has failed and closed its end: on_pid_1_gone() reports why */
	s->engine->kill(s);
	return 0;
}

int boot_send(struct supervisor *s, struct boot_message *boot, struct err *e)
{
	const struct engine_process *p = engine_process_of(s);
	const struct rootfs *root = &p->start->request.rootfs;
	char uid_map[IDS_MAP_BYTES], gid_map[IDS_MAP_BYTES];

	boot->lent_shell = root->fallback_shell >= 0;
	ids_inner_uid_map(&p->ids, uid_map);
	ids_inner_gid_map(&p->ids, gid_map);
	boot->inner_uid_map = uid_map;
	boot->inner_gid_map = gid_map;
	boot->owner_uid = root->spec->owner.uid;
	boot->owner_gid = root->spec->owner.gid;
	boot->rotated = ids_rotated(&p->ids);
	boot->single_id = p->ids.mode == IDS_SINGLE;
	boot->id_shift = ids_shift(&p->ids);
	name_own_mounts(root, boot);
	return send_boot(s, boot, e);
}
