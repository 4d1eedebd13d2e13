/*
 * Opens the layers, volumes and files of a record. process/rootfs.h makes a root file system of
 * them. This file opens every path once. All later code uses the descriptors.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "image/implied.h"
#include "image/store.h"
#include "process/fixtures.h"
#include "process/host_cas.h"
#include "process/host_image.h"
#include "process/login_shell.h"
#include "state/quota.h"
#include "state/volume.h"
#include "supervisor/engine_process.h"
#include "supervisor/source.h"

/* the most entries of r->owners: all implied directories, and the root directory */
#define ROOTFS_OWNERS_MAX (IMAGE_IMPLIED_MAX + 1)

/* Only root can give the files of each mount another owner. So without root, refuses stat-virt=off,
 * and allows uid= and gid= only if they are the ids of the user who works inside and the sandbox
 * has a range of ids. As root, allows all ids that a sandbox has. */
static int check_owner(const struct ids *i, const struct spec_mount *m, struct err *e)
{
	if (!m->has_owner && m->stat_virt != STAT_VIRT_OFF)
		return 0;
	if (m->has_owner && i->mode == IDS_SUBID && m->uid == i->rotation.uid &&
	    m->gid == i->rotation.gid)
		return 0;
	if (i->mode != IDS_RANGE) {
		err_set(e, ERR_UNSUPPORTED,
			"the owners of files in '%s' cannot be chosen without root", m->guest);
		return err_hint(e, "leave uid=, gid= and stat-virt= out: your files are root's "
				   "inside");
	}
	if (m->has_owner && (m->uid >= IDS_PER_SANDBOX || m->gid >= IDS_PER_SANDBOX))
		return err_set(e, ERR_INVALID, "uid= and gid= of '%s' must be below %u", m->guest,
			       IDS_PER_SANDBOX);
	return 0;
}

/* Checks that the file system of a volume with a quota is still mounted with quotas. */
static int check_quota(const struct supervisor *s, int volume, const struct spec_mount *m,
		       struct err *e)
{
	AUTO_FD dir = openat(volume, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir >= 0 && quota_enforced(dir) && quota_project(dir))
		return 0;
	volume_quota_missing(&s->home, e);
	return err_wrap(e, "volume '%s'", m->source);
}

static int open_source(struct supervisor *s, struct spec_mount *m, int *ret_fd, struct err *e)
{
	AUTO_FREE char *named = NULL;

	if (m->kind == MOUNT_BIND)
		return source_open("volume source", m->source, &m->identity, VOLUME_HINT, ret_fd,
				   e);
	named = xasprintf("%s/data", m->source);
	*ret_fd = home_open_in(&s->home, "volumes", named, O_PATH | O_DIRECTORY);
	return *ret_fd < 0 ? err_sys(e, errno, "volume '%s'", m->source) : 0;
}

static int open_volume(struct supervisor *s, struct spec_mount *m, int *ret_fd, struct err *e)
{
	struct engine_process *p = engine_process_of(s);
	struct stat st;
	AUTO_FD fd = -1;

	if (m->kind == MOUNT_DISK || (m->kind == MOUNT_NAMED && m->kind_disk))
		return disk_mount_volume(&p->disks, &s->home, m, ret_fd, e);
	if (check_owner(&p->ids, m, e) < 0 || open_source(s, m, &fd, e) < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return err_sys(e, errno, "mount source '%s'", m->source);
	if (m->want == WANT_DIR && !S_ISDIR(st.st_mode))
		return err_set(e, ERR_INVALID, "mount source '%s' is not a directory", m->source);
	if (m->want == WANT_FILE && !S_ISREG(st.st_mode))
		return err_set(e, ERR_INVALID, "mount source '%s' is not a file", m->source);
	if (m->quota_mib && check_quota(s, fd, m, e) < 0)
		return -1;
	*ret_fd = fd_take(&fd);
	return 0;
}

int root_find_image(const struct supervisor *s, int *ret_lock, struct image_record *ret,
		    struct err *e)
{
	const struct spec_image *image = &s->record.spec.image;

	if (!image->manifest_digest)
		return err_set(e, ERR_INVALID, "the record does not say which image this is");
	if (image_store_lock(s->home.fd, false, ret_lock, e) < 0)
		return -1;
	if (image_store_find_digest(s->home.fd, image->manifest_digest, ret, e) < 0)
		return err_wrap(e, "image '%s'", image->reference);
	return 0;
}

/* N is the id that owns a file on disk, in a layer whose owners are not rotated. Returns the id of
 * this owner inside of the sandbox, or 0 (root) if the owner has no id inside. */
static uint32_t id_inside(const struct ids *i, uint32_t n, uint32_t caller, uint32_t base)
{
	switch (i->mode) {
	case IDS_RANGE:
		return n < IDS_PER_SANDBOX ? n : 0;
	case IDS_SUBID:
		return n != caller && n >= base && n - base < IDS_PER_SANDBOX - 2 ? n - base + 1
										  : 0;
	case IDS_SINGLE:
		break;
	}
	return 0;
}

static void add_implied(struct rootfs *r, const struct image_implied *p)
{
	struct rootfs_owner *d;

	if (!r->owners)
		r->owners = xcalloc(ROOTFS_OWNERS_MAX, sizeof(*r->owners));
	d = &r->owners[r->n_owners];
	d->mode = p->mode;
	d->uid = id_inside(r->ids, p->uid, r->ids->caller_uid, r->ids->uid_base);
	d->gid = id_inside(r->ids, p->gid, r->ids->caller_gid, r->ids->gid_base);
	snprintf(d->path, sizeof(d->path), "%s", p->path);
	r->n_owners += d->mode != 0755 || d->uid || d->gid;
}

/* Some directories of the image RECORD have no entry in the tar of their layer (image/implied.h).
 * Adds each such directory to R->owners with its right owner and mode, unless these are root and
 * 0755. R->layer_fd[0] is a layer of ours; the layers of the image follow it. */
static void find_implied(const struct supervisor *s, const struct image_record *record,
			 struct rootfs *r)
{
	AUTO_FREE struct image_implied *found = xcalloc(IMAGE_IMPLIED_MAX, sizeof(*found));
	AUTO_BUF text = BUF_INIT(IMAGE_IMPLIED_MAX_BYTES);
	char path[IMAGE_PATH_BYTES];
	int n = -1;

	image_implied_path(record, path);
	if (io_read_file(s->home.fd, path, &text) == 0)
		n = image_implied_read(buf_str(&text), text.n, found);
	/* If an older version of cordon filled the store, there is no list, so we look at the
	 * layers. If the ids are rotated, the layers do not show the real owners. So we list
	 * nothing, and these directories belong to root. */
	if (n < 0 && !ids_rotated(r->ids))
		n = (int)image_implied_find(r->layer_fd + 1, r->n_layers - 1, found);
	for (int i = 0; i < n; i++)
		add_implied(r, &found[i]);
}

/* Opens the lowest layer, which is ours and has our mount points. */
static int open_places(struct supervisor *s, struct rootfs *r, struct err *e)
{
	AUTO_FD cache = -1;

	if (home_dir(&s->home, "cache", &cache, e) < 0 ||
	    host_image_open_places(cache, r->ids, &r->layer_fd[0], e) < 0)
		return -1;
	r->n_layers = 1;
	return 0;
}

static int open_image(struct supervisor *s, struct rootfs *r, struct err *e)
{
	char form[IMAGE_FORM_BYTES];
	struct image_record record;
	AUTO_FD lock = -1;
	size_t n = 0;
	int rc;

	if (open_places(s, r, e) < 0 || root_find_image(s, &lock, &record, e) < 0)
		return -1;
	image_form_name(&r->ids->rotation, form);
	rc = image_store_open_layers(s->home.fd, &record, form, r->layer_fd + 1, &n, &r->served, e);
	if (rc < 0 && *form && e->code == ERR_NOT_FOUND)
		IGNORE(err_hint(e, "the image was removed meanwhile: create the sandbox anew"));
	r->n_layers += n;
	if (rc == 0)
		find_implied(s, &record, r);
	else
		err_wrap(e, "image '%s'", s->record.spec.image.reference);
	image_record_done(&record);
	return rc;
}

/* Makes the sandbox's root user the owner of the root directory, if R->owners has no entry for this
 * directory. On disk the directory belongs to the user who runs cordon. If the ids are rotated,
 * that user is not root inside. */
static void own_root(struct rootfs *r)
{
	for (size_t i = 0; i < r->n_owners; i++)
		if (strcmp(r->owners[i].path, "/") == 0)
			return;
	if (!r->owners)
		r->owners = xcalloc(ROOTFS_OWNERS_MAX, sizeof(*r->owners));
	r->owners[r->n_owners++] = (struct rootfs_owner){ "/", IMAGE_ROOT_MODE, 0, 0 };
}

static int open_directory(struct supervisor *s, int *ret_fd, struct err *e)
{
	struct spec_image *image = &s->record.spec.image;

	return source_open("image directory", image->reference, &image->identity, ANEW_HINT, ret_fd,
			   e);
}

/* Uses the directory of the user as the whole root. Such a root has no writable layer, and we must
 * make its mount points (complete_in_place()). */
static int use_in_place(struct supervisor *s, struct rootfs *r, struct err *e)
{
	if (open_directory(s, &r->layer_fd[0], e) < 0)
		return -1;
	r->n_layers = 1;
	return 0;
}

/* If the root is a directory of the user, used in place, makes its mount points. */
static int complete_in_place(struct supervisor *s, const struct rootfs *r, struct err *e)
{
	struct mount_points *points = &engine_process_of(s)->mount_points;

	if (!spec_image_in_place(&s->record.spec.image))
		return 0;
	if (mount_points_enter(&s->home, r->layer_fd[0], LINKS_FOLLOWED,
			       s->record.spec.image.reference, points, e) < 0)
		return -1;
	return mount_points_make(points, r->layer_fd[0], &s->record.spec, e);
}

/* Makes the directory of the user the only layer of the image. The directory has no rotated form.
 * So if the ids are rotated, the caller's files in it belong to the user who works inside. */
static int open_directory_image(struct supervisor *s, struct rootfs *r, struct err *e)
{
	if (open_places(s, r, e) < 0 || open_directory(s, &r->layer_fd[1], e) < 0)
		return -1;
	r->n_layers = 2;
	return 0;
}

static int open_layers(struct supervisor *s, struct rootfs *r, struct err *e)
{
	const struct spec *spec = &s->record.spec;
	AUTO_FD cache = -1;

	switch (spec->image.kind) {
	case IMAGE_HOST:
		if (home_dir(&s->home, "cache", &cache, e) < 0 ||
		    host_image_open_base(cache, r->ids, &r->layer_fd[0], e) < 0)
			return -1;
		r->n_layers = 1;
		break;
	case IMAGE_DIR:
		if (spec_image_in_place(&spec->image))
			return use_in_place(s, r, e);
		if (open_directory_image(s, r, e) < 0)
			return -1;
		break;
	case IMAGE_OCI:
		if (spec->image.root_disk.kind == ROOT_DISK_FLAT)
			return layer_open_flat(s, r, e);
		if (open_image(s, r, e) < 0)
			return -1;
		break;
	default:
		return err_set(e, ERR_UNSUPPORTED, "this kind of image is not supported yet");
	}
	if (ids_rotated(r->ids)) {
		own_root(r);
		engine_process_of(s)->lowest_layer = fcntl(r->layer_fd[0], F_DUPFD_CLOEXEC, 3);
	}
	return layer_open(s, r, e);
}

static int lend_files(struct supervisor *s, struct rootfs *r, struct err *e)
{
	const struct spec *spec = &s->record.spec;

	if (spec->trust_host_cas && host_cas_read(r, e) < 0)
		return -1;
	/* the image `host` needs no files for a login shell: it has the /etc/profile of its base
	 * and the shells of the host */
	if (spec->image.kind == IMAGE_HOST)
		return 0;
	if (spec->shell_fallback && login_shell_fallback(r, &r->fallback_shell, e) < 0)
		return -1;
	r->profile = login_shell_profile(r, r->fallback_shell >= 0);
	return 0;
}

/* Returns true if fuse-overlayfs must unite the layers, so that the kernel's overlay need not be
 * tried. image_store_open_layers() has set R->served if a layer of the image has whiteouts that
 * only fuse-overlayfs understands. */
static bool must_be_served(const struct supervisor *s, const struct rootfs *r)
{
	if (!rootfs_is_overlay(r))
		return r->served;
	if (r->upper_fd < 0)
		return s->home.served == HOME_SERVED_ALL;
	/* fuse-overlayfs may mark deleted files in a way that the kernel does not understand. So if
	 * it once wrote to the layer, it serves this layer for ever. It understands the marks of
	 * the kernel, so it may take over a layer to which the kernel wrote. */
	return s->home.served != HOME_SERVED_NOTHING ||
	       strcmp(s->record.state.root, ROOT_SERVED) == 0;
}

void root_init(const struct supervisor *s, struct rootfs *r)
{
	const struct engine_process *p = engine_process_of(s);
	const struct spec *spec = &s->record.spec;

	*r = (struct rootfs){
		.spec = spec,
		.ids = &p->ids,
		.parent_mounts = p->parent_mounts,
		.upper_fd = -1,
		.sys_fd = -1,
		.dev_fd = -1,
		.fallback_shell = -1,
	};
	for (size_t i = 0; i < ARRAY_SIZE(r->layer_fd); i++)
		r->layer_fd[i] = -1;
	if (spec->hostname)
		snprintf(r->hostname, sizeof(r->hostname), "%s", spec->hostname);
	else
		spec_default_hostname(spec->name, r->hostname);
	r->volume_fd = xcalloc(spec->n_mounts + 1, sizeof(int));
	for (size_t i = 0; i < spec->n_mounts; i++)
		r->volume_fd[i] = -1;
}

static int open_volumes(struct supervisor *s, struct rootfs *r, struct err *e)
{
	struct spec *spec = &s->record.spec;

	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec->mount[i].kind != MOUNT_TMPFS &&
		    open_volume(s, &spec->mount[i], &r->volume_fd[i], e) < 0)
			return -1;
	return 0;
}

int root_open(struct supervisor *s, struct rootfs *r, struct err *e)
{
	/* if this fails, the child makes /sys and /dev */
	if (r->parent_mounts)
		IGNORE(!fixtures_open(&r->sys_fd, &r->dev_fd));
	s->stage = "mount";
	if (sources_learn(s, e) < 0)
		return -1;
	s->stage = "image";
	if (open_layers(s, r, e) < 0)
		return -1;
	r->served = must_be_served(s, r);
	s->stage = "mount";
	/* nothing is made in a directory of the user before we know where our state is */
	if (open_volumes(s, r, e) < 0 || own_state_find(s, r, e) < 0)
		return -1;
	s->stage = "image";
	if (complete_in_place(s, r, e) < 0 || lend_files(s, r, e) < 0)
		return -1;
	s->stage = "mount";
	return nested_make(&s->home, r, &engine_process_of(s)->nested, e);
}

void root_close(struct rootfs *r)
{
	for (size_t i = 0; i < r->n_layers; i++)
		fd_closep(&r->layer_fd[i]);
	fd_closep(&r->upper_fd);
	fd_closep(&r->sys_fd);
	fd_closep(&r->dev_fd);
	fd_closep(&r->fallback_shell);
	free_p(&r->profile);
	free_p(&r->owners);
	free_p(&r->host_cas);
	free_p(&r->ca_bundle);
	free_p(&r->ca_place);
	for (size_t i = 0; i < r->n_hidden; i++)
		free(r->hidden[i].below);
	free_p(&r->hidden);
	r->n_hidden = 0;
	for (size_t i = 0; r->volume_fd && i < r->spec->n_mounts; i++)
		fd_closep(&r->volume_fd[i]);
	free_p(&r->volume_fd);
}
