#include "store/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"

/* Returns true if FD is a directory. If a worker needs no directory, the parent passes /dev/null as
 * FD. */
static bool is_directory(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Keeps the worker from the paths of the host. Landlock alone is not enough: it restricts how files
 * are opened, but not chown and chmod. So confine_enclose() stops `..` from leading above READ_FD,
 * and chroot() makes DIR_FD the root directory. Both fail with EPERM if an ordinary user's worker
 * has no user namespace. We ignore this failure, because such a worker has no capabilities and
 * cannot change other users' files. */
static int leave_host_root(int dir_fd, int read_fd, struct err *e)
{
	int r = is_directory(read_fd) ? confine_enclose(read_fd) : 0;

	if (r < 0 && r != -EPERM)
		return err_sys(e, -r, "enclose the worker's source");
	if (!is_directory(dir_fd))
		return 0;
	if (fchdir(dir_fd) < 0 || (chroot(".") < 0 && errno != EPERM))
		return err_sys(e, errno, "change the worker's root directory");
	return 0;
}

static int limit_files(int dir_fd, int read_fd, struct err *e)
{
	const uint64_t read = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
	struct confine_files f;

	if (confine_files_begin(&f, e) < 0)
		return -1;
	/* true without Landlock, and for Landlock's first version: we do not use that version,
	 * because it forbids links and renames between directories */
	if (!(f.handled & LANDLOCK_ACCESS_FS_REFER)) {
		confine_files_done(&f);
		return 0;
	}
	if ((is_directory(dir_fd) && confine_files_allow(&f, dir_fd, f.handled, e) < 0) ||
	    (is_directory(read_fd) && confine_files_allow(&f, read_fd, read, e) < 0) ||
	    confine_files_end(&f, e) < 0) {
		confine_files_done(&f);
		return -1;
	}
	return 0;
}

static int drop_privilege(struct err *e)
{
	return confine_capabilities(CONFINE_CAP(CAP_CHOWN) | CONFINE_CAP(CAP_DAC_OVERRIDE) |
					    CONFINE_CAP(CAP_FOWNER) | CONFINE_CAP(CAP_FSETID) |
					    CONFINE_CAP(CAP_SETFCAP),
				    e);
}

static int limit_resources(struct err *e)
{
	if (confine_core(e) < 0 || confine_limit(RLIMIT_NOFILE, WORKER_OPEN_FILES_MAX, e) < 0)
		return -1;
#ifndef __SANITIZE_ADDRESS__ /* the shadow memory of the sanitizer would exceed the limit */
	if (confine_limit(RLIMIT_DATA, WORKER_MEMORY_MAX_BYTES, e) < 0)
		return -1;
#endif
	return 0;
}

int confine(int dir_fd, int read_fd, struct err *e)
{
	/* drop_privilege() also sets no_new_privs, which Landlock needs; the filter comes last,
	 * because it forbids the other steps */
	if (limit_resources(e) < 0 || leave_host_root(dir_fd, read_fd, e) < 0 ||
	    drop_privilege(e) < 0 || limit_files(dir_fd, read_fd, e) < 0)
		return -1;
	return is_directory(dir_fd) ? confine_calls(tree_filter, tree_filter_len, e)
				    : confine_calls(treeless_filter, treeless_filter_len, e);
}
