#include "state/diskfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/spawn.h"

#define MIB (1ull << 20)

static int make_file_system(const char *path, struct err *e)
{
	/* the file is all zeros already: there is nothing to discard */
	const char *argv[] = { "mke2fs", "-q",   "-F",
			       "-t",     "ext4", "-m",
			       "0",      "-E",   "root_owner=0:0,nodiscard",
			       path,     NULL };
	struct child c;
	int status;

	if (spawn_path(argv, &c, e) < 0) {
		err_wrap(e, "make a file system");
		return e->code == ERR_NOT_FOUND ? err_hint(e, "install the package 'e2fsprogs'")
						: -1;
	}
	if (child_wait(&c, &status) < 0 || status != 0)
		return err_set(e, ERR_INVALID, "the size is too small for a file system");
	return 0;
}

int disk_file_make(int dir, const char *name, const char *path, uint64_t size_mib, struct err *e)
{
	AUTO_FD disk = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (disk < 0 || ftruncate(disk, (off_t)(size_mib * MIB)) < 0)
		return err_sys(e, errno, "make a disk of %llu MiB", (unsigned long long)size_mib);
	return make_file_system(path, e);
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

int disk_file_grow(int fd, const char *path, uint64_t size_mib, struct err *e)
{
	/* growing a mounted one would need a capability that root of a container lacks */
	const char *check[] = { "e2fsck", "-fp", path, NULL };
	const char *resize[] = { "resize2fs", "-f", path, NULL };

	if (ftruncate(fd, (off_t)(size_mib * MIB)) < 0)
		return err_sys(e, errno, "grow '%s' to %llu MiB", path,
			       (unsigned long long)size_mib);
	/* 1: it repaired something, such as the journal of a killed sandbox */
	return run_on_disk(check, fd, 1, e) < 0 ? -1 : run_on_disk(resize, fd, 0, e);
}
