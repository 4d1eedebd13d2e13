/*
 * Removing a tree of any depth needs a constant number of descriptors. Each pass over the top
 * directory empties its subdirectories. A directory inside those that is not empty is moved up to
 * the top under a new name, for the next pass.
 */
#include "store/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "store/worker.h"

#define TREE_LINKS_MAX 40 /* what the kernel follows in one path */

int tree_open(int root_fd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned)flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	do
		fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	return fd < 0 ? -errno : (int)fd;
}

/* Returns the path to go on with after a link to a missing target: the target, as seen from the
 * link's directory, and the rest of PATH. */
static char *follow_dangling(int dir_fd, const char *path, size_t prefix, size_t base)
{
	char target[TREE_PATH_MAX_BYTES + 1];
	AUTO_FREE char *name = xstrndup(path + base, prefix - base);
	ssize_t n = readlinkat(dir_fd, name, target, sizeof(target) - 1);

	if (n < 0)
		return NULL;
	target[n] = '\0';
	if (target[0] == '/')
		return xasprintf("%s%s", target, path + prefix);
	return xasprintf("%.*s%s%s", (int)base, path, target, path + prefix);
}

int tree_mark(int fd, const char *name, const void *value, size_t n)
{
	/* tmpfs before Linux 6.6, for example */
	return fsetxattr(fd, name, value, n, 0) < 0 && errno != ENOTSUP ? -errno : 0;
}

/* -errno */
static int make_implied(int dir_fd, const char *name)
{
	AUTO_FD fd = -1;

	if (mkdirat(dir_fd, name, 0755) < 0)
		return -errno;
	fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : tree_mark(fd, IMAGE_IMPLIED_XATTR, "", 0);
}

static int make_path(int root_fd, const char *path, unsigned *made, unsigned links)
{
	AUTO_FD dir = tree_open(root_fd, ".", O_PATH | O_DIRECTORY);
	size_t base = 0;

	if (dir < 0)
		return dir;
	if (strlen(path) > TREE_PATH_MAX_BYTES)
		return -ENAMETOOLONG;
	for (;;) {
		AUTO_FREE char *name = NULL;
		AUTO_FREE char *prefix_path = NULL;
		AUTO_FREE char *other = NULL;
		AUTO_FD next = -1;
		size_t prefix;

		base += strspn(path + base, "/");
		if (!path[base])
			return fd_take(&dir);
		prefix = base + strcspn(path + base, "/");
		prefix_path = xstrndup(path, prefix);
		next = tree_open(root_fd, prefix_path, O_PATH | O_DIRECTORY);
		if (next == -ENOENT) {
			int r;

			name = xstrndup(path + base, prefix - base);
			r = make_implied(dir, name);
			if (r == 0) {
				(*made)++;
				next = tree_open(root_fd, prefix_path, O_PATH | O_DIRECTORY);
			} else if (r == -EEXIST && links < TREE_LINKS_MAX &&
				   (other = follow_dangling(dir, path, prefix, base))) {
				return make_path(root_fd, other, made, links + 1);
			} else {
				return r == -EEXIST ? -ELOOP : r;
			}
		}
		if (next < 0)
			return next;
		fd_closep(&dir);
		dir = fd_take(&next);
		base = prefix;
	}
}

int tree_make_path(int root_fd, const char *path, unsigned *ret_made)
{
	int fd = tree_open(root_fd, *path ? path : ".", O_PATH | O_DIRECTORY);

	*ret_made = 0;
	if (fd != -ENOENT)
		return fd;
	return make_path(root_fd, path, ret_made, 0);
}

bool tree_keeps_xattr(const char *name)
{
	if (starts_with(name, "user."))
		return !starts_with(name, "user.overlay.");
	return strcmp(name, "security.capability") == 0;
}

/* Without privilege, a directory of mode 0 can be read or moved (moving changes its "..") only
 * after this chmod. If it fails, the next step fails too. */
static int open_for_removal(int dir_fd, const char *name)
{
	int fd;

	IGNORE(fchmodat(dir_fd, name, 0700, 0));
	fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Returns true when the entry is removed. Returns false with *RET_ERR 0 when it is a directory
 * that is not empty. */
static bool remove_entry(int dir_fd, const char *name, int *ret_err)
{
	*ret_err = 0;
	if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
		return true;
	if (errno == EISDIR) {
		if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0)
			return true;
		if (errno == ENOTEMPTY)
			return false;
	}
	*ret_err = -errno;
	return false;
}

static int move_up(int from_fd, const char *name, int to_fd, unsigned *number)
{
	char moved[32];
	int r;

	IGNORE(fchmodat(from_fd, name, 0700, 0)); /* see open_for_removal */
	do {
		snprintf(moved, sizeof(moved), ".%u", (*number)++);
		r = renameat2(from_fd, name, to_fd, moved, RENAME_NOREPLACE) < 0 ? -errno : 0;
	} while (r == -EEXIST);
	return r;
}

/* Makes one pass over the directory FD and closes it. Subdirectories that are not empty are moved
 * up to TOP_FD; if FD is the top itself, another pass empties them. */
static int sweep(int fd, int top_fd, unsigned *number, unsigned *ret_left)
{
	DIR *dir = fdopendir(fd);
	struct dirent *d;
	int r = 0;

	if (!dir) {
		r = -errno;
		fd_closep(&fd);
		return r;
	}
	while (r == 0 && (d = readdir(dir))) {
		unsigned ignored;
		int sub;

		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
		    remove_entry(fd, d->d_name, &r) || r < 0)
			continue;
		(*ret_left)++;
		if (top_fd >= 0) {
			r = move_up(fd, d->d_name, top_fd, number);
			continue;
		}
		sub = open_for_removal(fd, d->d_name);
		r = sub < 0 ? sub : sweep(sub, fd, number, &ignored);
	}
	closedir(dir);
	return r;
}

int tree_remove(int dir_fd, const char *name)
{
	unsigned number = 0, left;
	int r;

	if (remove_entry(dir_fd, name, &r) || r < 0)
		return r;
	do {
		int fd = open_for_removal(dir_fd, name);

		left = 0;
		r = fd < 0 ? fd : sweep(fd, -1, &number, &left);
	} while (r == 0 && left > 0);
	if (r == 0 && unlinkat(dir_fd, name, AT_REMOVEDIR) < 0)
		r = -errno;
	return r;
}

int tree_run(const char *arg, enum layer_owners owners, struct json_writer *reply, struct err *e)
{
	int r = arg ? tree_remove(WORKER_DIR_FD, arg) : -EINVAL;

	if (r < 0)
		return err_sys(e, -r, "remove '%s'", arg ? arg : "");
	json_begin_object(reply);
	json_end_object(reply);
	return 0;
}
