#include "supervisor/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compat.h"
#include "base/diskfile.h"
#include "supervisor/source.h"

/* The loop device shares the locked file description. So the lock is held until the file system is
 * unmounted, even if the supervisor is killed. After a stop the kernel takes a moment to unmount
 * the file system. So the next start waits up to LOCK_WAIT_NS for the lock. */
#define LOCK_WAIT_NS NS_PER_SEC
#define LOCK_RETRY_MS 5

struct disk_hold {
	struct disk_hold *next;
	int fd; /* the file, locked */
};

int disk_lock(struct disks *all, const struct disk *d, int *ret_file, struct err *e)
{
	/* O_NONBLOCK: if a FIFO is in the place of the file, we must not wait for it */
	AUTO_FD fd = d->source < 0 ? -1
				   : identity_reopen(d->source, (d->readonly ? O_RDONLY : O_RDWR) |
									O_NONBLOCK);
	uint64_t deadline = clock_mono_ns() + LOCK_WAIT_NS;
	struct disk_hold *hold;
	struct stat st;

	if (!all->may_mount) {
		err_set(e, ERR_UNSUPPORTED, "%s cannot be mounted without root", d->what);
		return err_hint(e, "use a directory: nothing else can be mounted by a user");
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, errno, "%s", d->what);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_INVALID, "%s is not a file", d->what);
	while (flock(fd, (d->readonly ? LOCK_SH : LOCK_EX) | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return err_sys(e, errno, "lock %s", d->what);
		if (clock_mono_ns() < deadline) {
			IGNORE(poll(NULL, 0, LOCK_RETRY_MS));
			continue;
		}
		err_set(e, ERR_BUSY, "%s is mounted by another sandbox", d->what);
		return err_hint(
			e, "a disk has one writer at a time; stop the other sandbox, or mount it "
			   "read-only in all of them");
	}
	hold = xcalloc(1, sizeof(*hold));
	hold->next = all->held;
	hold->fd = *ret_file = fd_take(&fd);
	all->held = hold;
	return 0;
}

void disks_release(struct disks *all)
{
	while (all->held) {
		struct disk_hold *next = all->held->next;

		fd_closep(&all->held->fd);
		free(all->held);
		all->held = next;
	}
}

/* The file systems that can be mounted, and the magic bytes by which they are recognised. All
 * others are refused: many file systems of the kernel are not safe against blocks that an attacker
 * wrote. */
static const struct {
	const char *name, *driver;
	off_t at;
	const char *magic; /* NULL if this is another name of a type above */
	size_t n;
} types[] = {
	{ "ext4", "ext4", 1080, "\x53\xef", 2 },
	{ "ext3", "ext4", 0, NULL, 0 },
	{ "ext2", "ext4", 0, NULL, 0 },
	{ "xfs", "xfs", 0, "XFSB", 4 },
	{ "btrfs", "btrfs", 65600, "_BHRfS_M", 8 },
	{ "erofs", "erofs", 1024, "\xe2\xe1\xf5\xe0", 4 },
	{ "squashfs", "squashfs", 0, "hsqs", 4 },
};

static bool looks_like(int file, size_t i)
{
	char found[8];

	return types[i].magic &&
	       pread(file, found, types[i].n, types[i].at) == (ssize_t)types[i].n &&
	       memcmp(found, types[i].magic, types[i].n) == 0;
}

static int find_driver(int file, const struct disk *d, const char **ret, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (d->fstype ? strcmp(d->fstype, types[i].name) == 0 : looks_like(file, i)) {
			*ret = types[i].driver;
			return 0;
		}
	if (d->fstype)
		err_set(e, ERR_UNSUPPORTED, "%s: file system '%s' is not supported", d->what,
			d->fstype);
	else
		err_set(e, ERR_INVALID, "%s holds no file system that is known", d->what);
	return err_hint(e, "ext4, xfs, btrfs, erofs or squashfs, without a partition table");
}

static int mount_device(const char *device, const char *driver, const struct disk *d, int *ret_fd)
{
	AUTO_FD fs = sys_fsopen(driver, FSOPEN_CLOEXEC);

	if (fs < 0 || sys_fsconfig(fs, FSCONFIG_SET_STRING, "source", device, 0) < 0 ||
	    (d->readonly && sys_fsconfig(fs, FSCONFIG_SET_FLAG, "ro", NULL, 0) < 0) ||
	    /* without this option, a file system could ask the kernel to panic on errors */
	    (strcmp(driver, "ext4") == 0 &&
	     sys_fsconfig(fs, FSCONFIG_SET_STRING, "errors", "remount-ro", 0) < 0) ||
	    /* `discard`: when a file is deleted, its blocks become free on the host too.
	     * `noinit_itable`: the kernel writes no zeros into inode tables. Our sparse file
	     * already reads as zeros there. */
	    (d->ours && (sys_fsconfig(fs, FSCONFIG_SET_FLAG, "discard", NULL, 0) < 0 ||
			 sys_fsconfig(fs, FSCONFIG_SET_FLAG, "noinit_itable", NULL, 0) < 0)) ||
	    sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	*ret_fd = sys_fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NODEV);
	return *ret_fd;
}

int disk_mount(const struct disk *d, int file, int *ret_fd, struct err *e)
{
	const char *driver = "ext4";
	AUTO_FD loop = -1;
	char device[DISK_DEVICE_BYTES];

	if ((!d->ours && find_driver(file, d, &driver, e) < 0) ||
	    disk_file_attach(file, d->readonly, device, &loop, e) < 0)
		return -1;
	if (mount_device(device, driver, d, ret_fd) < 0)
		return err_sys(e, errno, "mount %s", d->what);
	return 0;
}

int disk_mount_volume(struct disks *all, const struct home *h, struct spec_mount *m, int *ret_fd,
		      struct err *e)
{
	bool image = m->kind == MOUNT_DISK;
	AUTO_FREE char *named = image ? NULL : xasprintf("%s/disk.raw", m->source);
	AUTO_FREE char *what =
		xasprintf("%s '%s'", image ? "disk image" : "disk volume", m->source);
	struct disk d = {
		.what = what,
		.readonly = m->readonly,
		.ours = !image,
		.fstype = m->fstype,
	};
	AUTO_FD source = -1;
	int file;

	if (!image)
		source = home_open_in(h, "volumes", named, O_PATH);
	else if (source_open("disk image", m->source, &m->identity, VOLUME_HINT, &source, e) < 0)
		return -1;
	d.source = source;
	return disk_lock(all, &d, &file, e) < 0 ? -1 : disk_mount(&d, file, ret_fd, e);
}
