#include "tree/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"

/* Splits PATH in front of its last component. *RET_PARENT is a new string with the part before it,
 * or "." if PATH is a name alone. *RET_LAST points to the last component in PATH, which may still
 * have slashes after it. For "/" the last component is empty. */
static void split(const char *path, char **ret_parent, const char **ret_last)
{
	size_t n = strlen(path);
	char *copy = xcalloc(1, n + 2); /* room for "." or "/", also if PATH is empty */
	char *slash;

	memcpy(copy, path, n);
	while (n > 0 && copy[n - 1] == '/')
		copy[--n] = '\0';
	slash = strrchr(copy, '/');
	*ret_last = path + (slash ? slash + 1 - copy : 0);
	if (slash)
		slash[slash == copy] = '\0';
	else
		memcpy(copy, n ? "." : "/", 2);
	*ret_parent = copy;
}

static int take_name(struct tree_place *p, const char *last, const char *path, struct err *e)
{
	size_t n = strcspn(last, "/");

	if (n > FILE_NAME_MAX_BYTES)
		return err_sys(e, ENAMETOOLONG, "'%s'", path);
	memcpy(p->name, last, n);
	p->name[n] = '\0';
	return file_name_valid(p->name) ? 0 : err_set(e, ERR_INVALID, "'%s' names no file", path);
}

int tree_place(int at, const char *path, const char *name, bool exact, struct tree_place *ret,
	       struct err *e)
{
	size_t n = strlen(path);
	bool slash = n > 0 && path[n - 1] == '/';
	AUTO_FREE char *parent = NULL;
	const char *last;
	AUTO_FD dir = -1;

	*ret = (struct tree_place){ .dir = -1 };
	if (!exact) {
		dir = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0 && errno == ENOENT && slash && mkdirat(at, path, 0755) == 0)
			dir = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0 && (slash || (errno != ENOENT && errno != ENOTDIR)))
			return err_sys(e, errno, "'%s'", path);
	}
	if (dir >= 0) {
		memcpy(ret->name, name, strlen(name) + 1);
		ret->dir = fd_take(&dir);
		return 0;
	}
	split(path, &parent, &last);
	if (take_name(ret, last, path, e) < 0)
		return -1;
	ret->dir = openat(at, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return ret->dir < 0 ? err_sys(e, errno, "'%s'", parent) : 0;
}

/* --- the sandbox's own layer ----------------------------------------------------------------- */

static int in_root(int root, const char *path, unsigned flags)
{
	struct open_how how = { .flags = O_CLOEXEC | flags,
				.resolve =
					RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV };

	return sys_openat2(root, path, &how);
}

static int own_failed(const char *path, int errnum, struct err *e)
{
	if (errnum == EXDEV)
		return err_set(e, ERR_DENIED, "'%s' is on a mount, not in the sandbox's own files",
			       path);
	return err_sys(e, errnum, "'%s'", path);
}

int tree_make_own(const char *path, int *ret_fd, struct err *e)
{
	AUTO_FREE char *so_far = xcalloc(1, strlen(path) + 2);
	AUTO_FD root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_FD at = root < 0 ? -1 : in_root(root, "/", O_RDONLY | O_DIRECTORY);
	const char *next = path;

	if (at < 0)
		return err_sys(e, errno, "open '/'");
	while (*(next += strspn(next, "/"))) {
		size_t n = strcspn(next, "/");
		AUTO_FREE char *name = xstrndup(next, n);
		int fd;

		memcpy(so_far, path, (size_t)(next - path) + n);
		fd = in_root(root, so_far, O_RDONLY | O_DIRECTORY);
		if (fd < 0 && errno == ENOENT && mkdirat(at, name, 0755) == 0)
			fd = in_root(root, so_far, O_RDONLY | O_DIRECTORY);
		if (fd < 0)
			return own_failed(so_far, errno, e);
		close(at);
		at = fd;
		next += n;
	}
	*ret_fd = fd_take(&at);
	return 0;
}

int tree_place_own(const char *path, const char *name, bool exact, struct tree_place *ret,
		   struct err *e)
{
	AUTO_FREE char *parent = NULL;
	AUTO_FD root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *last;

	*ret = (struct tree_place){ .dir = -1 };
	if (root < 0)
		return err_sys(e, errno, "open '/'");
	if (!exact) {
		ret->dir = in_root(root, path, O_RDONLY | O_DIRECTORY);
		if (ret->dir >= 0) {
			memcpy(ret->name, name, strlen(name) + 1);
			return 0;
		}
		if (errno != ENOENT && errno != ENOTDIR)
			return own_failed(path, errno, e);
	}
	split(path, &parent, &last);
	return take_name(ret, last, path, e) < 0 ? -1 : tree_make_own(parent, &ret->dir, e);
}
