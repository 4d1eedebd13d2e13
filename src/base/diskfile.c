#include "base/diskfile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/spawn.h"

#define MIB (1ull << 20)
#define LOOP_TRIES 64 /* how often we ask for a free device: another program may take it first */
#define COPY_CHUNK_BYTES (1u << 30)

static int make_file_system(const char *path, const struct disk_make *m, struct err *e)
{
	char inodes[24], journal[32];
	/* the file holds only zeros, so mke2fs need not discard blocks or write zeros */
	const char *argv[16] = { "mke2fs", "-q",   "-F",
				 "-t",     "ext4", "-m",
				 "0",      "-E",   "root_owner=0:0,nodiscard,lazy_journal_init=1" };
	size_t n = 9;
	struct child c;
	int status;

	snprintf(inodes, sizeof(inodes), "%llu", (unsigned long long)m->inodes);
	snprintf(journal, sizeof(journal), "size=%u", m->journal_mib);
	if (m->inodes) {
		argv[n++] = "-N";
		argv[n++] = inodes;
	}
	if (m->journal_mib) {
		argv[n++] = "-J";
		argv[n++] = journal;
	}
	argv[n++] = path;

	if (spawn_path(argv, &c, e) < 0) {
		err_wrap(e, "make a file system");
		return e->code == ERR_NOT_FOUND ? err_hint(e, "install the package 'e2fsprogs'")
						: -1;
	}
	if (child_wait(&c, &status) < 0 || status != 0)
		return err_set(e, ERR_INVALID, "the size is too small for a file system");
	return 0;
}

int disk_file_make(int dir, const char *name, const char *path, const struct disk_make *m,
		   struct err *e)
{
	AUTO_FD disk = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (disk < 0 || ftruncate(disk, (off_t)(m->size_mib * MIB)) < 0)
		return err_sys(e, errno, "make a disk of %llu MiB",
			       (unsigned long long)m->size_mib);
	return make_file_system(path, m, e);
}

static int run_on_disk(const char *const *argv, int fd, int accepted, struct err *e)
{
	struct child c;
	int status;

	if (spawn_path_with(argv, fd, &c, e) < 0)
		return e->code == ERR_NOT_FOUND ? err_hint(e, "install the package 'e2fsprogs'")
						: -1;
	if (child_wait(&c, &status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) > accepted)
		return err_set(e, ERR_SYSTEM, "'%s' failed on '%s'", argv[0], argv[2]);
	return 0;
}

int disk_file_grow(int fd, const char *path, uint64_t size_mib, enum disk_check how, struct err *e)
{
	static const char *const words[] = {
		[DISK_CHECK] = "-fp", [DISK_REPLAY] = "-pEjournal_only", [DISK_REPAIR] = "-fy"
	};
	/* the file system must not be mounted: root of a container lacks the capability to grow a
	 * mounted file system */
	const char *check[] = { "e2fsck", words[how], path, NULL };
	const char *resize[] = { "resize2fs", "-f", path, NULL };

	struct stat st;

	/* a file that is larger already, after an interrupted growth, must not lose its end */
	if (fstat(fd, &st) < 0 ||
	    ((uint64_t)st.st_size < size_mib * MIB && ftruncate(fd, (off_t)(size_mib * MIB)) < 0))
		return err_sys(e, errno, "grow '%s' to %llu MiB", path,
			       (unsigned long long)size_mib);
	/* exit status 1 is a success: e2fsck has repaired something, such as the journal of a
	 * killed sandbox */
	return run_on_disk(check, fd, 1, e) < 0 ? -1 : run_on_disk(resize, fd, 0, e);
}

int disk_file_shrink(int fd, const char *path, uint64_t size_mib, struct err *e)
{
	char size[32];
	const char *resize[] = { "resize2fs", "-f", path, size, NULL };

	snprintf(size, sizeof(size), "%lluM", (unsigned long long)size_mib);
	if (run_on_disk(resize, fd, 0, e) < 0)
		return e->code == ERR_SYSTEM
			       ? err_set(e, ERR_LIMIT,
					 "%llu MiB are too small for the disk's contents",
					 (unsigned long long)size_mib)
			       : -1;
	if (ftruncate(fd, (off_t)(size_mib * MIB)) < 0)
		return err_sys(e, errno, "shrink '%s'", path);
	return 0;
}

static int copy_range(int from, int to, off_t at, off_t end, struct err *e)
{
	if (lseek(to, at, SEEK_SET) < 0)
		return err_sys(e, errno, "copy a disk");
	while (at < end) {
		size_t want = end - at > COPY_CHUNK_BYTES ? COPY_CHUNK_BYTES : (size_t)(end - at);
		ssize_t n = sendfile(to, from, &at, want);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_sys(e, n < 0 ? errno : EIO, "copy a disk");
	}
	return 0;
}

static int copy_data(int from, int to, struct err *e)
{
	struct stat st;
	off_t data = 0;

	if (fstat(from, &st) < 0 || ftruncate(to, st.st_size) < 0)
		return err_sys(e, errno, "copy a disk");
	while ((data = lseek(from, data, SEEK_DATA)) >= 0) {
		off_t hole = lseek(from, data, SEEK_HOLE);

		if (hole < 0)
			return err_sys(e, errno, "copy a disk");
		if (copy_range(from, to, data, hole, e) < 0)
			return -1;
		data = hole;
	}
	return errno == ENXIO ? 0 : err_sys(e, errno, "copy a disk");
}

int disk_file_clone(int from, int to, enum disk_clone how, struct err *e)
{
	if (how != DISK_CLONE_COPY && ioctl(to, FICLONE, from) == 0)
		return 0;
	if (how == DISK_CLONE_SHARE)
		return err_set(e, ERR_UNSUPPORTED,
			       "the file system cannot share the blocks of two files");
	return copy_data(from, to, e);
}

int disk_file_attach(int file, bool readonly, char path[DISK_DEVICE_BYTES], int *ret_fd,
		     struct err *e)
{
	AUTO_FD control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	struct loop_config config = {
		.fd = (unsigned)file,
		.info = { .lo_flags = LO_FLAGS_AUTOCLEAR | (readonly ? LO_FLAGS_READ_ONLY : 0) },
	};

	if (control < 0) {
		err_sys(e, errno, "open '/dev/loop-control'");
		return err_hint(e, "file systems in files need loop devices: modprobe loop");
	}
	for (unsigned i = 0; i < LOOP_TRIES; i++) {
		AUTO_FD fd = -1;
		int n = ioctl(control, LOOP_CTL_GET_FREE);

		if (n < 0)
			return err_sys(e, errno, "find a free loop device");
		snprintf(path, DISK_DEVICE_BYTES, "/dev/loop%d", n);
		fd = open(path, (readonly ? O_RDONLY : O_RDWR) | O_CLOEXEC);
		if (fd < 0)
			return err_sys(e, errno, "open '%s'", path);
		if (ioctl(fd, LOOP_CONFIGURE, &config) == 0) {
			*ret_fd = fd_take(&fd);
			return 0;
		}
		if (errno != EBUSY)
			return err_sys(e, errno, "set up '%s'", path);
	}
	return err_set(e, ERR_LIMIT, "no free loop device");
}
