#include "store/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/erase.h"
#include "base/str.h"
#include "store/worker.h"

#define TREE_LINKS_MAX 40 /* the most links in one path; the kernel has the same limit */

int tree_open(int root_fd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned)flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd;

	do
		fd = sys_openat2(root_fd, path, &how);
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

/* BASE and PREFIX are offsets in PATH: where the name of a link begins and where it ends. The
 * target of this link is missing. Returns PATH with the target instead of the link. For example, if
 * `b` is a link to `x`, "a/b/c" becomes "a/x/c". Returns NULL if the link cannot be read. */
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
	/* tmpfs before Linux 6.6, for example, has no such attributes */
	return fsetxattr(fd, name, value, n, 0) < 0 && errno != ENOTSUP ? -errno : 0;
}

int tree_mark_implied(int fd, const struct rotation *rotation)
{
	uid_t uid = rotation_place(rotation->uid, 0);
	gid_t gid = rotation_place(rotation->gid, 0);

	/* without a rotation the directory already belongs to root, which is the worker's own id */
	if ((uid || gid) && fchown(fd, uid, gid) < 0)
		return -errno;
	return tree_mark(fd, IMAGE_IMPLIED_XATTR, "", 0);
}

/* Makes the directory NAME and marks it as implied. Returns 0 or -errno. */
static int make_implied(int dir_fd, const char *name, const struct rotation *rotation)
{
	AUTO_FD fd = -1;

	if (mkdirat(dir_fd, name, 0755) < 0)
		return -errno;
	fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : tree_mark_implied(fd, rotation);
}

static int make_path(int root_fd, const char *path, const struct rotation *rotation, unsigned *made,
		     unsigned links)
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
			r = make_implied(dir, name, rotation);
			if (r == 0) {
				(*made)++;
				next = tree_open(root_fd, prefix_path, O_PATH | O_DIRECTORY);
			} else if (r == -EEXIST && links < TREE_LINKS_MAX &&
				   (other = follow_dangling(dir, path, prefix, base))) {
				return make_path(root_fd, other, rotation, made, links + 1);
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

int tree_make_path(int root_fd, const char *path, const struct rotation *rotation,
		   unsigned *ret_made)
{
	int fd = tree_open(root_fd, *path ? path : ".", O_PATH | O_DIRECTORY);

	*ret_made = 0;
	if (fd != -ENOENT)
		return fd;
	return make_path(root_fd, path, rotation, ret_made, 0);
}

bool tree_keeps_xattr(const char *name)
{
	if (starts_with(name, "user."))
		return !starts_with(name, "user.overlay.");
	return strcmp(name, "security.capability") == 0;
}

int tree_run(const char *arg, enum layer_owners owners, struct json_writer *reply, struct err *e)
{
	int r = arg ? erase_tree(WORKER_DIR_FD, arg) : -EINVAL;

	if (r < 0)
		return err_sys(e, -r, "remove '%s'", arg ? arg : "");
	json_begin_object(reply);
	json_end_object(reply);
	return 0;
}
