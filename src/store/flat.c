/*
 * The command `flatten`. The flat form of an image is one file with an ext4 file system that holds
 * all layers, merged. Every sandbox with --root-disk flat gets a copy of this file. The flat form
 * is made once for each list of layers and kept in cache/flat (image/store.h). Only root can make
 * and use a flat form, because the file system must be mounted.
 *
 * HEX, the name of the file in cache/flat, is a hash of the list of layers. The file is made in the
 * locked directory cache/tmp/HEX.flat. mke2fs makes an empty file system, which is mounted through
 * a loop device, without a mount point. A confined worker fills this mount. The worker sees only
 * the layers and the mount. After the unmount the file is synced and moved to cache/flat. If the
 * process is killed, the kernel removes the mount and the loop device, and the next writer removes
 * the directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compat.h"
#include "base/diskfile.h"
#include "base/say.h"
#include "image/store.h"
#include "store/commands.h"
#include "store/store.h"
#include "store/worker.h"

#define MIB (1ull << 20)
#define BUILD_SUFFIX ".flat"
#define DISK_FILE "disk.raw"
#define DISK_MIN_MIB 4096u     /* the default size of a writable layer */
#define ENTRY_BYTES 8192u      /* the most that the last block of a file and its metadata take */
#define DISK_SPARE_MIB 64u     /* extra space for the journal and the tables of ext4 */
#define DISK_JOURNAL_MIB 16u   /* by default, mke2fs takes more for a disk of 4 GiB */
#define BYTES_PER_INODE 16384u /* the default of mke2fs */
#define RELEASE_WAIT_NS (30 * NS_PER_SEC)
#define RETRY_NS (20 * NS_PER_MS)

struct flat_build {
	const struct store *store;
	const struct image_record *image;
	char hex[DIGEST_HEX_CHARS + 1];
	char name[DIGEST_HEX_CHARS + sizeof(BUILD_SUFFIX)];
	char *path; /* path of the file, for mke2fs */
	int dir;    /* the directory HEX.flat, locked */
};

static void pause_a_moment(void)
{
	const struct timespec pause = { 0, (long)RETRY_NS };

	nanosleep(&pause, NULL);
}

static bool is_made(const struct flat_build *w)
{
	return faccessat(w->store->flat_fd, w->hex, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* --- size ------------------------------------------------------------------------------------ */

/* Computes the largest size that the flat form can have, from the sizes of the layers. The result
 * may be too large, which is harmless: unused space costs nothing in a sparse file. *RET_LEAST is
 * the space that must be free on the host. */
static int measure(const struct flat_build *w, struct disk_make *ret, uint64_t *ret_least,
		   struct err *e)
{
	uint64_t bytes = 0, entries = 0, least = 0;

	for (size_t i = 0; i < w->image->n_layers; i++) {
		struct image_layer_info info;

		if (image_store_layer_info(w->store->home_fd, w->image->layer[i].digest, "", &info,
					   e) < 0)
			return -1;
		/* if the store's file system has small blocks or compresses, disk_bytes is too
		 * small for ext4 */
		if (info.disk_bytes < info.tar_bytes)
			info.disk_bytes = info.tar_bytes;
		bytes += info.disk_bytes;
		entries += info.entries;
		/* The layers may be versions of the same files, and hidden files take no space in
		 * the flat form. So we can only be sure that the flat form needs the space of the
		 * largest layer. */
		if (info.disk_bytes > least)
			least = info.disk_bytes;
	}
	*ret_least = least;
	bytes += entries * ENTRY_BYTES;
	*ret = (struct disk_make){ .size_mib = (bytes + bytes / 16) / MIB + DISK_SPARE_MIB,
				   .journal_mib = DISK_JOURNAL_MIB };
	if (ret->size_mib < DISK_MIN_MIB)
		ret->size_mib = DISK_MIN_MIB;
	ret->inodes = ret->size_mib * MIB / BYTES_PER_INODE;
	if (ret->inodes < 2 * entries)
		ret->inodes = 2 * entries;
	return 0;
}

/* Checks that BYTES bytes are free on the host. The file system in the file knows only its own
 * size. If the host's disk becomes full while this file system is filled, we only learn it from a
 * late input/output error. */
static int check_room(const struct flat_build *w, uint64_t bytes, struct err *e)
{
	struct statvfs v;

	if (fstatvfs(w->dir, &v) < 0 ||
	    v.f_blocks == 0 || /* a file system without a size is not checked */
	    (uint64_t)v.f_bavail * v.f_frsize >= bytes)
		return 0;
	return err_sys(e, ENOSPC, "%llu MiB are needed", (unsigned long long)(bytes / MIB + 1));
}

/* --- making the file ------------------------------------------------------------------------- */

static int mount_disk(int file, int *ret_fd, struct err *e)
{
	char device[DISK_DEVICE_BYTES];
	AUTO_FD loop = -1;
	AUTO_FD fs = -1;

	if (disk_file_attach(file, false, device, &loop, e) < 0)
		return -1;
	fs = sys_fsopen("ext4", FSOPEN_CLOEXEC);
	if (fs < 0 || sys_fsconfig(fs, FSCONFIG_SET_STRING, "source", device, 0) < 0 ||
	    /* with `discard`, the host gets back the space of files that a higher layer hides */
	    sys_fsconfig(fs, FSCONFIG_SET_FLAG, "discard", NULL, 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_SET_FLAG, "noinit_itable", NULL, 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return err_sys(e, errno, "mount it");
	*ret_fd = sys_fsmount(fs, FSMOUNT_CLOEXEC,
			      MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	return *ret_fd < 0 ? err_sys(e, errno, "mount it") : 0;
}

static int fill(const struct flat_build *w, int mount, struct err *e)
{
	AUTO_BUF list = BUF_INIT(IMAGE_LAYERS_MAX * (DIGEST_HEX_CHARS + 1) + 1);
	AUTO_FD root = -1;
	struct worker_order order = {
		.op = "merge", .in_fd = w->store->layers_fd, .out_fd = -1, .dir_fd = mount
	};

	for (size_t i = 0; i < w->image->n_layers; i++)
		buf_addf(&list, "%s%s", i ? "," : "", digest_hex(w->image->layer[i].digest));
	order.arg = buf_str(&list);
	if (worker_run(&order, NULL, e) < 0)
		return -1;
	root = openat(mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || syncfs(root) < 0)
		return err_sys(e, errno, "write it");
	return 0;
}

static int mount_and_fill(const struct flat_build *w, struct err *e)
{
	AUTO_FD file = openat(w->dir, DISK_FILE, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	AUTO_FD mount = -1;

	/* the loop device uses the same open file, so it holds the lock too */
	if (file < 0 || flock(file, LOCK_EX | LOCK_NB) < 0)
		return err_sys(e, errno, "open it");
	if (mount_disk(file, &mount, e) < 0)
		return -1;
	return fill(w, mount, e);
}

/* The mount ended when its descriptor was closed. The loop device, which also holds the lock, is
 * released a little later. So we wait for the lock. */
static int wait_unmounted(int file, struct err *e)
{
	uint64_t until_ns = clock_mono_ns() + RELEASE_WAIT_NS;

	while (flock(file, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK || clock_mono_ns() > until_ns)
			return err_sys(e, errno, "unmount it");
		pause_a_moment();
	}
	return 0;
}

static int build(const struct flat_build *w, struct err *e)
{
	struct disk_make make;
	AUTO_FD file = -1;
	uint64_t least;

	if (measure(w, &make, &least, e) < 0 || check_room(w, least, e) < 0 ||
	    disk_file_make(w->dir, DISK_FILE, w->path, &make, e) < 0)
		return -1;
	if (mount_and_fill(w, e) < 0) {
		/* A full disk of the host is a likely cause. If the disk is full, check_room()
		 * replaces *E with an error that says so. */
		IGNORE(check_room(w, DISK_SPARE_MIB * MIB, e));
		return -1;
	}
	file = openat(w->dir, DISK_FILE, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (file < 0 || wait_unmounted(file, e) < 0)
		return file < 0 ? err_sys(e, errno, "open it") : -1;
	if (fsync(file) < 0 || renameat(w->dir, DISK_FILE, w->store->flat_fd, w->hex) < 0 ||
	    fsync(w->store->flat_fd) < 0)
		return err_sys(e, errno, "put it in place");
	return 0;
}

/* --- one process at a time ------------------------------------------------------------------- */

/* Makes and locks the directory HEX.flat. Sets *RET_BUSY to true if another process holds the lock
 * or has just removed the directory. */
static int claim(struct flat_build *w, bool *ret_busy, struct err *e)
{
	AUTO_FD fd = -1;

	if (mkdirat(w->store->tmp_fd, w->name, 0700) < 0 && errno != EEXIST)
		return err_sys(e, errno, "make a directory in the image store");
	if (store_lock_tmp(w->store, w->name, &fd, e) < 0)
		return -1;
	*ret_busy = fd < 0;
	if (*ret_busy)
		return 0;
	/* remove what a killed process left */
	if (unlinkat(fd, DISK_FILE, 0) < 0 && errno != ENOENT)
		return err_sys(e, errno, "remove an unfinished flat form");
	w->dir = fd_take(&fd);
	return 0;
}

static int make_once(struct flat_build *w, struct err *e)
{
	bool busy = true;
	struct err ignored; /* if removing fails, the next writer removes the rest */
	int r;

	while (!is_made(w)) {
		if (claim(w, &busy, e) < 0)
			return -1;
		if (!busy)
			break;
		pause_a_moment();
	}
	if (busy)
		return 0;
	/* another process may have made the flat form before we got the lock */
	r = is_made(w) ? 0 : build(w, e);
	IGNORE(store_erase_tmp(w->store, w->name, &ignored));
	return r;
}

/* Makes the flat form unless it exists. If another process is making it, waits for that process.
 * HOME is the path of the home that has the store. */
static int make(const struct store *store, const char *home, const struct image_record *r,
		struct err *e)
{
	struct flat_build w = { .store = store, .image = r, .dir = -1 };
	int rc;

	if (r->n_layers == 0)
		return err_set(e, ERR_INVALID, "it has no layers");
	image_flat_hex(r, w.hex);
	snprintf(w.name, sizeof(w.name), "%s" BUILD_SUFFIX, w.hex);
	w.path = xasprintf("%s/cache/tmp/%s/" DISK_FILE, home, w.name);
	rc = make_once(&w, e);
	fd_closep(&w.dir);
	free(w.path);
	return rc < 0 ? err_wrap(e, "make the flat form") : 0;
}

int run_flatten(const struct options *o, struct err *e)
{
	uint64_t since_ns = clock_mono_ns(), mib;
	struct image_record record;
	bool cached = false;
	struct store store;
	int r;

	if (store_open(o->home, &store, e) < 0)
		return -1;
	r = image_store_find(store.home_fd, o->arg[0], &record, e);
	if (r == 0) {
		cached = image_store_flat(store.home_fd, &record, &mib) > 0;
		r = make(&store, o->home, &record, e);
		if (r < 0)
			err_wrap(e, "image '%s'", o->arg[0]);
		image_record_done(&record);
	}
	store_done(&store);
	if (r == 0 && cached)
		say_already("Flattened", o->arg[0], "already cached");
	else if (r == 0)
		say_done("Flattened", o->arg[0], clock_mono_ns() - since_ns);
	return r;
}
