#include "process/fixtures.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/erase.h"
#include "wire/group_view.h"

#define PARENT "/var/lib/cordon"
#define PLACE PARENT "/fixtures-2" /* we raise the number when we change the contents */

const struct fixture_node fixture_nodes[FIXTURE_NODES] = {
	{ "/dev/null", "null", 1, 3 },       { "/dev/zero", "zero", 1, 5 },
	{ "/dev/full", "full", 1, 7 },       { "/dev/random", "random", 1, 8 },
	{ "/dev/urandom", "urandom", 1, 9 }, { "/dev/tty", "tty", 5, 0 },
};

const struct fixture_link fixture_links[FIXTURE_LINKS] = {
	{ "fd", "/proc/self/fd" },       { "stdin", "/proc/self/fd/0" },
	{ "stdout", "/proc/self/fd/1" }, { "stderr", "/proc/self/fd/2" },
	{ "ptmx", "pts/ptmx" },
};

static int make(int root, const char *path, mode_t mode)
{
	/* mkdirat obeys the umask, so fchmodat sets the mode */
	if (mkdirat(root, path, 0700) < 0 || fchmodat(root, path, mode, 0) < 0)
		return -errno;
	return 0;
}

static int make_sys(int root)
{
	static const char *const dirs[] = { "sys",
					    "sys/devices",
					    "sys/devices/system",
					    "sys/devices/system/cpu",
					    "sys/devices/system/node",
					    "sys/fs",
					    "sys/fs/cgroup" };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(dirs); i++)
		r = make(root, dirs[i], 0755);
	for (unsigned i = GROUP_VIEW_UNIFIED + 1; r == 0 && i < GROUP_VIEW_COUNT; i++) {
		char path[64];

		snprintf(path, sizeof(path), "sys/%s", group_view_place[i]);
		r = make(root, path, 0555);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(dirs); i++)
		r = fchmodat(root, dirs[i], 0555, 0) < 0 ? -errno : 0;
	return r;
}

static int make_dev(int root)
{
	AUTO_FD dev = -1;
	int r = make(root, "dev", 0755);

	if (r < 0)
		return r;
	dev = openat(root, "dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dev < 0)
		return -errno;
	if ((r = make(dev, "pts", 0755)) < 0 || (r = make(dev, "shm", 01777)) < 0)
		return r;
	for (size_t i = 0; i < FIXTURE_LINKS; i++)
		if (symlinkat(fixture_links[i].to, dev, fixture_links[i].name) < 0)
			return -errno;
	for (size_t i = 0; i < FIXTURE_NODES; i++) {
		const struct fixture_node *n = &fixture_nodes[i];

		if (mknodat(dev, n->name, S_IFCHR | 0666, makedev(n->major, n->minor)) < 0 ||
		    fchmodat(dev, n->name, 0666, 0) < 0)
			return -errno;
	}
	return 0;
}

/* Makes the directory under a temporary name and then renames it, so that other processes see all
 * of it or nothing. If two supervisors do this at once, the first rename succeeds. The other
 * supervisor then uses the directory of the first, which has the same contents. */
static void make_place(void)
{
	char temp[sizeof(PLACE) + 32];
	AUTO_FD parent = -1;
	AUTO_FD fd = -1;

	IGNORE(mkdir(PARENT, 0755)); /* the directory may exist already */
	parent = open(PARENT, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(temp, sizeof(temp), PLACE ".new-%d", (int)getpid());
	if (mkdir(temp, 0755) < 0)
		return;
	fd = open(temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || make_sys(fd) < 0 || make_dev(fd) < 0 ||
	    sys_renameat2(AT_FDCWD, temp, AT_FDCWD, PLACE, RENAME_NOREPLACE) < 0)
		IGNORE(erase_tree(parent, temp + strlen(PARENT "/")));
}

/* Returns true if all nodes are the right devices with the right mode, and their file system is not
 * mounted with `nodev`. */
static bool nodes_work(int dev)
{
	struct statvfs fs;
	struct stat st;

	if (fstatvfs(dev, &fs) < 0 || (fs.f_flag & ST_NODEV))
		return false;
	for (size_t i = 0; i < FIXTURE_NODES; i++)
		if (fstatat(dev, fixture_nodes[i].name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISCHR(st.st_mode) || (st.st_mode & 0777) != 0666 ||
		    st.st_rdev != makedev(fixture_nodes[i].major, fixture_nodes[i].minor))
			return false;
	return true;
}

bool fixtures_open(int *ret_sys, int *ret_dev)
{
	AUTO_FD sys = -1;
	AUTO_FD dev = open(PLACE "/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);

	/* make the directory only if it is missing. After any other error, it exists but cannot be
	 * used */
	if (dev < 0 && errno == ENOENT) {
		make_place();
		dev = open(PLACE "/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	sys = open(PLACE "/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dev < 0 || sys < 0 || !nodes_work(dev))
		return false;
	*ret_sys = fd_take(&sys);
	*ret_dev = fd_take(&dev);
	return true;
}
