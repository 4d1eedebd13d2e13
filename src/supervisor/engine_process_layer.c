/*
 * The writable layer of a sandbox, and how its size is enforced.
 *
 *   layers/0/{upper,work}   a directory: under a project quota if cordon can set one, else watched
 *                           (watched_layer.h)
 *   layers/0/disk.raw       a file system in a file, if the user asked for a size and cordon can
 *                           set no quota (root only)
 *   layers/0/disk.raw       with --root-disk flat: the whole root, a copy of the image's flat form
 *   the user's own disk     with --root-disk PATH
 *   in memory               with --root-disk tmpfs; ephemeral sandboxes without --root-disk disk,
 *                           unless a disk.raw can give them the size that the user asked for
 *
 * The first start chooses one of these forms. Later starts find the files of that form in layers/0,
 * if it has any. Without --root-disk flat, a file system in a file (disk.raw) is made only if the
 * user asked for a size. For the default size such a file would cost too much, so without a quota
 * the layer is a plain directory that we watch.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/diskfile.h"
#include "base/erase.h"
#include "image/store.h"
#include "state/quota.h"
#include "state/removal.h"
#include "supervisor/engine_process.h"
#include "supervisor/source.h"
#include "supervisor/watched_layer.h"

#define MIB (1ull << 20)
#define DISK_FILE "disk.raw"
#define DISK_UNFINISHED "disk.new"
#define DISK_GROWING "disk.growing"

static int in_memory(struct supervisor *s, struct rootfs *r, uint64_t mib)
{
	r->memory_mib = mib;
	engine_process_of(s)->layer = LAYER_MEMORY;
	return 0;
}

static int open_directory(struct supervisor *s, int *ret_fd, struct err *e)
{
	if (mkdirat(s->record_dir, "layers", 0700) < 0 && errno != EEXIST)
		return err_sys(e, errno, "make the writable layer");
	if (mkdirat(s->record_dir, "layers/0", 0755) < 0 && errno != EEXIST)
		return err_sys(e, errno, "make the writable layer");
	*ret_fd =
		openat(s->record_dir, "layers/0", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return *ret_fd < 0 ? err_sys(e, errno, "open the writable layer") : 0;
}

/* Deletes work/ and makes it again, empty. The last mount has left files in work/, such as its
 * `volatile` mark, which would make the next mount fail. */
static int clean(const struct ids *i, int layer, bool host_ids, struct err *e)
{
	if (erase_tree(layer, "work") < 0 || mkdirat(layer, "work", 0700) < 0)
		return err_sys(e, errno, "clean the work area of the writable layer");
	if (host_ids && i->mode == IDS_RANGE &&
	    fchownat(layer, "work", i->uid_base, i->gid_base, 0) < 0)
		return err_sys(e, errno, "give the work area to its range");
	return 0;
}

int layer_clean(const struct rootfs *r, struct err *e)
{
	return r->upper_fd < 0 ? 0 : clean(r->ids, r->upper_fd, !r->upper_is_mount, e);
}

/* Makes upper/ and work/ in LAYER. HOST_IDS is true if LAYER is on a file system of the host. If
 * HOST_IDS is true and the sandbox has a range of host ids of its own (IDS_RANGE), upper/ is given
 * to the first id of this range. */
static int prepare(struct rootfs *r, int layer, bool host_ids, struct err *e)
{
	const struct ids *i = r->ids;
	bool give = host_ids && i->mode == IDS_RANGE;

	if (clean(i, layer, host_ids, e) < 0)
		return -1;
	if (mkdirat(layer, "upper", 0755) == 0) {
		if (fchmodat(layer, "upper", 0755, 0) < 0)
			return err_sys(e, errno, "make the writable layer");
		if (give && fchownat(layer, "upper", i->uid_base, i->gid_base, 0) < 0)
			return err_sys(e, errno, "give the writable layer to its range");
	} else if (errno != EEXIST) {
		return err_sys(e, errno, "make the writable layer");
	} else {
		/* set no owners: an earlier start has set them, and the payload may have changed
		 * them since */
		r->n_owners = 0;
	}
	return 0;
}

static int use_directory(struct supervisor *s, struct rootfs *r, int layer, const char *how,
			 struct err *e)
{
	AUTO_FD fd = layer;

	if (prepare(r, fd, true, e) < 0)
		return -1;
	r->upper_fd = fd_take(&fd);
	engine_process_of(s)->layer = how;
	return 0;
}

/* --- disks ----------------------------------------------------------------------------------- */

static int use_disk(struct supervisor *s, struct rootfs *r, const struct disk *d, int file,
		    struct err *e)
{
	AUTO_FD mount = -1;

	if (disk_mount(d, file, &mount, e) < 0 || prepare(r, mount, false, e) < 0)
		return -1;
	r->upper_fd = fd_take(&mount);
	r->upper_is_mount = r->upper_limited = true;
	engine_process_of(s)->layer = "loop image";
	return 0;
}

static char *path_in_layer(const struct supervisor *s, const char *name)
{
	return xasprintf("%s/sandboxes/%s/layers/0/%s", s->home.path, s->record.spec.name, name);
}

static int make_disk(const struct supervisor *s, int layer, uint64_t mib, struct err *e)
{
	AUTO_FREE char *path = path_in_layer(s, DISK_UNFINISHED);

	/* a start that was killed may have left this file */
	IGNORE(unlinkat(layer, DISK_UNFINISHED, 0) < 0);
	if (disk_file_make(layer, DISK_UNFINISHED, path, &(struct disk_make){ .size_mib = mib },
			   e) < 0) {
		/* if this fails, the file is deleted with the record */
		IGNORE(unlinkat(layer, DISK_UNFINISHED, 0) < 0);
		return -1;
	}
	return renameat(layer, DISK_UNFINISHED, layer, DISK_FILE) < 0
		       ? err_sys(e, errno, "make the root disk")
		       : 0;
}

static bool is_there(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Grows the disk if `modify` asked for a larger size. A mark file exists while the disk grows: if
 * this start is killed, the next start sees the mark and repairs the disk. */
static int grow(const struct supervisor *s, int layer, int file, uint64_t mib, bool flat,
		struct err *e)
{
	bool interrupted = is_there(layer, DISK_GROWING);
	/* A full check makes the directory lost+found if it is missing, and stops if lost+found is
	 * no directory. In a flat root the payload may remove or replace lost+found. So e2fsck only
	 * replays the journal there. After an interrupted growth, e2fsck also repairs a flat
	 * root. */
	enum disk_check how = !flat ? DISK_CHECK : interrupted ? DISK_REPAIR : DISK_REPLAY;
	AUTO_FREE char *path = path_in_layer(s, DISK_FILE);
	AUTO_FD mark = -1;
	struct stat st;

	if (fstat(file, &st) < 0)
		return err_sys(e, errno, "look at the root disk");
	if ((uint64_t)st.st_size >= mib * MIB && !interrupted)
		return 0;
	mark = openat(layer, DISK_GROWING, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (mark < 0 || disk_file_grow(file, path, mib, how, e) < 0)
		return mark < 0 ? err_sys(e, errno, "grow the root disk") : -1;
	return unlinkat(layer, DISK_GROWING, 0) < 0 ? err_sys(e, errno, "grow the root disk") : 0;
}

static int use_own_disk(struct supervisor *s, struct rootfs *r, int layer, uint64_t mib,
			struct err *e)
{
	AUTO_FD source = openat(layer, DISK_FILE, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	const struct disk d = { .what = "the root disk", .source = source, .ours = true };
	int file;

	if (disk_lock(&engine_process_of(s)->disks, &d, &file, e) < 0 ||
	    grow(s, layer, file, mib, false, e) < 0)
		return -1;
	return use_disk(s, r, &d, file, e);
}

static int use_users_disk(struct supervisor *s, struct rootfs *r, struct err *e)
{
	struct spec_root_disk *asked = &s->record.spec.image.root_disk;
	AUTO_FREE char *what = xasprintf("--root-disk '%s'", asked->path);
	struct disk d = { .what = what, .fstype = asked->fstype };
	AUTO_FD source = -1;
	int file;

	if (source_open("--root-disk", asked->path, &asked->identity, ANEW_HINT, &source, e) < 0)
		return -1;
	d.source = source;
	return disk_lock(&engine_process_of(s)->disks, &d, &file, e) < 0
		       ? -1
		       : use_disk(s, r, &d, file, e);
}

/* --- the size of a managed layer ------------------------------------------------------------- */

static int refuse(const struct supervisor *s, bool fresh, struct err *e)
{
	if (!fresh) {
		err_set(e, ERR_UNSUPPORTED,
			"--root-disk: the writable layer of '%s' has no size that could be "
			"enforced",
			s->record.spec.name);
		return err_hint(e, "mount the file system of the state directory with prjquota as "
				   "before, or create the sandbox anew with --root-disk");
	}
	err_set(e, ERR_UNSUPPORTED,
		"--root-disk: the size of a layer on disk cannot be enforced without root");
	/* For an image that is a directory, the hint must not say only "leave it out": without
	 * --root-disk and without `,cow` the sandbox has no writable layer and writes into
	 * DIRECTORY itself. */
	if (s->record.spec.image.kind == IMAGE_DIR)
		return err_hint(e, "write DIRECTORY,cow with --root-disk tmpfs:SIZE, in memory and "
				   "empty after each stop; or DIRECTORY,cow alone; or run cordon "
				   "as root");
	return err_hint(e, "use --root-disk tmpfs:SIZE, in memory and empty after each stop; or "
			   "leave it out; or run cordon as root");
}

/* Puts the layer under a quota, and makes the file RECORD_QUOTA_MARK in the record. When the
 * record is deleted, this file shows that the quota must be lifted (state/removal.c). Returns true
 * if both succeeded. */
static bool adopt(const struct supervisor *s, int layer)
{
	AUTO_FD mark = openat(s->record_dir, RECORD_QUOTA_MARK,
			      O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	return mark >= 0 && quota_adopt(layer) == 0;
}

/* Sets a quota of MIB on the layer. Returns true if the kernel enforces it from now on. */
static bool quota_holds(const struct supervisor *s, int layer, bool fresh, uint64_t mib)
{
	if (engine_process_of(s)->ids.mode != IDS_RANGE ||
	    (fresh ? !quota_enforced(layer) : !quota_project(layer)))
		return false;
	return (!fresh || adopt(s, layer)) && quota_limit(layer, mib * MIB) == 0;
}

static int open_managed(struct supervisor *s, struct rootfs *r, struct err *e)
{
	const struct spec_root_disk *asked = &s->record.spec.image.root_disk;
	uint64_t mib = spec_root_disk_mib(&s->record.spec);
	bool ephemeral = s->record.spec.ephemeral, wanted = asked->explicit || asked->configured;
	AUTO_FD layer = -1;
	bool fresh;

	if (ephemeral && !asked->on_disk && !(wanted && r->parent_mounts))
		return in_memory(s, r, mib);
	if (open_directory(s, &layer, e) < 0)
		return -1;
	if (is_there(layer, DISK_FILE))
		return use_own_disk(s, r, layer, mib, e);
	fresh = !is_there(layer, "upper");
	/* an ephemeral sandbox gets no quota: when we delete its record, we are confined and could
	 * not lift the quota */
	if (!ephemeral && quota_holds(s, layer, fresh, mib)) {
		r->upper_limited = true;
		return use_directory(s, r, fd_take(&layer), "project quota", e);
	}
	if (fresh && wanted && r->parent_mounts) {
		if (make_disk(s, layer, mib, e) == 0)
			return use_own_disk(s, r, layer, mib, e);
		if (ephemeral && !asked->on_disk)
			return in_memory(s, r, mib);
		if (asked->explicit)
			return err_wrap(e, "--root-disk");
	}
	if (asked->explicit)
		return refuse(s, fresh, e);
	if (watched_layer_new(s, layer, fresh, e) < 0)
		return -1;
	return use_directory(s, r, fd_take(&layer), LAYER_WATCHED, e);
}

int layer_open(struct supervisor *s, struct rootfs *r, struct err *e)
{
	switch (s->record.spec.image.root_disk.kind) {
	case ROOT_DISK_MANAGED:
		return open_managed(s, r, e);
	case ROOT_DISK_TMPFS:
		return in_memory(s, r, spec_root_disk_mib(&s->record.spec));
	case ROOT_DISK_PATH:
		return use_users_disk(s, r, e);
	case ROOT_DISK_FLAT:
		break;
	}
	return err_set(e, ERR_INVALID, "--root-disk flat: the image has no flat form");
}

/* --- flat ------------------------------------------------------------------------------------ */

static int open_flat_form(struct supervisor *s, int *ret_fd, struct err *e)
{
	const struct spec_image *image = &s->record.spec.image;
	char path[IMAGE_PATH_BYTES];
	struct image_record record;
	AUTO_FD lock = -1;

	if (root_find_image(s, &lock, &record, e) < 0)
		return -1;
	image_flat_path(&record, path);
	image_record_done(&record);
	*ret_fd = openat(s->home.fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return *ret_fd < 0 ? err_sys(e, errno, "open the flat form of image '%s'", image->reference)
			   : 0;
}

static enum disk_clone clone_kind(const char *word)
{
	return !word || strcmp(word, "auto") == 0 ? DISK_CLONE_AUTO
	       : strcmp(word, "copy") == 0        ? DISK_CLONE_COPY
						  : DISK_CLONE_SHARE;
}

static int clone_flat(const struct supervisor *s, int from, int to, uint64_t mib, struct err *e)
{
	const struct spec_root_disk *asked = &s->record.spec.image.root_disk;
	AUTO_FREE char *path = path_in_layer(s, DISK_UNFINISHED);
	struct stat st;

	if (disk_file_clone(from, to, clone_kind(asked->clone), e) < 0) {
		if (e->code != ERR_UNSUPPORTED)
			return err_wrap(e, "--root-disk flat");
		err_wrap(e, "--root-disk flat,clone=reflink");
		return err_hint(e, "keep CORDON_HOME on xfs or btrfs, or let it be copied: "
				   "clone=auto");
	}
	if (fstat(from, &st) < 0)
		return err_sys(e, errno, "look at the flat form");
	if ((uint64_t)st.st_size <= mib * MIB || disk_file_shrink(to, path, mib, e) == 0)
		return 0;
	if (e->code != ERR_LIMIT)
		return -1;
	err_wrap(e, "--root-disk flat:%lluM", (unsigned long long)mib);
	return err_hint(e, "the image, a journal and tables are in it too: 'cordon image inspect' "
			   "shows its size");
}

static int make_flat(struct supervisor *s, int layer, uint64_t mib, struct err *e)
{
	AUTO_FD from = -1;
	AUTO_FD to = -1;
	int r;

	if (open_flat_form(s, &from, e) < 0)
		return -1;
	/* a start that was killed may have left this file */
	IGNORE(unlinkat(layer, DISK_UNFINISHED, 0) < 0);
	to = openat(layer, DISK_UNFINISHED, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	if (to < 0)
		return err_sys(e, errno, "make the root disk");
	r = clone_flat(s, from, to, mib, e);
	if (r == 0 && renameat(layer, DISK_UNFINISHED, layer, DISK_FILE) < 0)
		r = err_sys(e, errno, "make the root disk");
	/* if this unlink fails, the file is deleted with the record */
	if (r < 0)
		IGNORE(unlinkat(layer, DISK_UNFINISHED, 0) < 0);
	return r;
}

int layer_open_flat(struct supervisor *s, struct rootfs *r, struct err *e)
{
	struct disk disk = { .what = "the root disk", .ours = true };
	uint64_t mib = spec_root_disk_mib(&s->record.spec);
	AUTO_FD layer = -1;
	AUTO_FD source = -1;
	AUTO_FD mount = -1;
	int file;

	if (!r->parent_mounts)
		return err_set(e, ERR_UNSUPPORTED,
			       "--root-disk flat: a disk cannot be mounted without root");
	if (open_directory(s, &layer, e) < 0 ||
	    (!is_there(layer, DISK_FILE) && make_flat(s, layer, mib, e) < 0))
		return -1;
	source = openat(layer, DISK_FILE, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	disk.source = source;
	if (disk_lock(&engine_process_of(s)->disks, &disk, &file, e) < 0 ||
	    grow(s, layer, file, mib, true, e) < 0 || disk_mount(&disk, file, &mount, e) < 0)
		return -1;
	r->layer_fd[0] = fd_take(&mount);
	r->n_layers = 1;
	r->one_disk = true;
	engine_process_of(s)->layer = "loop image";
	return 0;
}
