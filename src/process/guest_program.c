/* Opens the program of pid 1 in such a way that no process in the sandbox can change it. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "process/process.h"
#include "wire/guest_fd.h"

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

/* Makes a read-only mount of PATH, a file whose owner is root on the host, and opens the file
 * through this mount. All sandboxes share the file's pages. In the sandbox the owner of the file is
 * the user `nobody`. */
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

/* Returns true if everybody may execute the file, but only root can write to it. The mode is enough
 * to know who can write: if an access list lets others write, the mode's group bits include write
 * permission. */
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
	/* before the child executes this file, the child puts descriptors at the fixed numbers that
	 * pid 1 knows, so our descriptor must have a higher number */
	*ret_fd =
		fd > GUEST_GROUP_FD ? fd_take(&fd) : fcntl(fd, F_DUPFD_CLOEXEC, GUEST_GROUP_FD + 1);
	return *ret_fd < 0 ? err_sys(e, errno, "keep '%s' open", path) : 0;
}
