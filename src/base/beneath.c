#include "base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/io.h"

#define LINKS_MAX 8 /* beneath_write() fails if a path ends in so many links in a row */

/* --- looking and reading --------------------------------------------------------------------- */

static int open_how(int dir, const char *path, int flags, unsigned long long resolve)
{
	struct open_how how = { .flags = (unsigned)flags | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | resolve };
	int fd;

	if (!(flags & O_PATH))
		how.flags |= O_NONBLOCK | O_NOCTTY;
	fd = sys_openat2(dir, *path ? path : ".", &how);
	return fd < 0 ? -errno : fd;
}

int beneath_open(int dir, const char *path, int flags)
{
	return open_how(dir, path, flags, 0);
}

int beneath_open_unlinked(int dir, const char *path, int flags)
{
	return open_how(dir, path, flags, RESOLVE_NO_SYMLINKS);
}

int beneath_stat(int dir, const char *path, struct stat *ret)
{
	AUTO_FD fd = beneath_open(dir, path, O_PATH);

	if (fd < 0)
		return fd;
	return fstat(fd, ret) < 0 ? -errno : 0;
}

int beneath_open_kind(int dir, const char *path, mode_t *ret_kind)
{
	AUTO_FD fd = beneath_open_unlinked(dir, path, O_PATH);
	char again[sizeof("/proc/self/fd/") + 16];
	struct stat st;
	int r;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	*ret_kind = st.st_mode & S_IFMT;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return -EINVAL;
	/* open the descriptor's file, because the path may lead to another file by now */
	snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
	r = open(again, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return r < 0 ? -errno : r;
}

bool beneath_has_file(int dir, const char *path)
{
	struct stat st;

	return beneath_stat(dir, path, &st) == 0 && S_ISREG(st.st_mode);
}

bool beneath_has_dir(int dir, const char *path)
{
	struct stat st;

	return beneath_stat(dir, path, &st) == 0 && S_ISDIR(st.st_mode);
}

int beneath_read(int dir, const char *path, struct buf *b, struct stat *ret)
{
	AUTO_FD fd = beneath_open(dir, path, O_RDONLY);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if (ret)
		*ret = st;
	if ((uint64_t)st.st_size > b->max)
		return -EFBIG;
	return io_read_to_end(fd, b);
}

/* --- making ---------------------------------------------------------------------------------- */

char *beneath_fresh_name(const char *prefix)
{
	unsigned long long tag;

	if (getrandom(&tag, sizeof(tag), 0) != sizeof(tag))
		abort(); /* cannot happen: getrandom() never fails for 8 bytes */
	return xasprintf("%s%016llx", prefix, tag);
}

/* Gives the file FD to the owner of DIR, if we have the right to do so. */
static void give_to_owner_of(int dir, int fd)
{
	struct stat of_dir, of_fd;

	if (fstat(dir, &of_dir) < 0 || fstat(fd, &of_fd) < 0)
		return;
	if (of_dir.st_uid != of_fd.st_uid || of_dir.st_gid != of_fd.st_gid)
		/* fchown() may fail for an ordinary user; the file then stays ours */
		IGNORE(fchown(fd, of_dir.st_uid, of_dir.st_gid));
}

int beneath_make_dir(int dir, const char *name)
{
	int fd;

	if (mkdirat(dir, name, 0755) < 0)
		return -errno;
	fd = beneath_open_unlinked(dir, name, O_RDONLY | O_DIRECTORY);
	if (fd >= 0)
		give_to_owner_of(dir, fd);
	return fd;
}

int beneath_make_file(int dir, const char *name, mode_t mode)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

	if (fd < 0)
		return -errno;
	give_to_owner_of(dir, fd);
	return fd;
}

/* Opens the directory PATH below TOP, and follows links that stay below TOP. If PATH does not
 * exist, makes it as NAME in DIR: DIR is the open parent directory of PATH, and NAME is the last
 * component of PATH. Returns a descriptor or -errno. */
static int enter(int top, const char *path, int dir, const char *name)
{
	int fd = beneath_open(top, path, O_RDONLY | O_DIRECTORY);

	if (fd != -ENOENT)
		return fd;
	fd = beneath_make_dir(dir, name);
	return fd == -EEXIST ? beneath_open(top, path, O_RDONLY | O_DIRECTORY) : fd;
}

int beneath_make_dirs(int dir, const char *path)
{
	/* a copy of PATH; during a call of enter(), it ends after the component to enter */
	AUTO_FREE char *way = xstrdup(path);
	AUTO_FD at = beneath_open(dir, "", O_RDONLY | O_DIRECTORY);
	char *name = way;

	while (at >= 0 && *name) {
		char *end = name + strcspn(name, "/"), saved = *end;
		int next;

		*end = '\0';
		next = enter(dir, way, at, name);
		*end = saved;
		close(at);
		at = next;
		name = end + (saved == '/');
	}
	return fd_take(&at);
}

int beneath_make_dirs_unlinked(int dir, const char *path)
{
	AUTO_FREE char *way = xstrdup(path);
	AUTO_FD at = beneath_open_unlinked(dir, "", O_RDONLY | O_DIRECTORY);
	char *rest = way, *name;

	while (at >= 0 && (name = strsep(&rest, "/"))) {
		int next;

		if (!*name)
			continue;
		next = beneath_open_unlinked(at, name, O_RDONLY | O_DIRECTORY);
		if (next == -ENOENT)
			next = beneath_make_dir(at, name);
		if (next == -EEXIST) /* another process made the directory just now */
			next = beneath_open_unlinked(at, name, O_RDONLY | O_DIRECTORY);
		close(at);
		at = next;
	}
	return fd_take(&at);
}

int beneath_replace(int dir, const char *name, struct str content)
{
	AUTO_FREE char *temp = beneath_fresh_name(BENEATH_NEW);
	AUTO_FD fd = -1;
	struct stat old;
	mode_t mode = 0644;
	int r;

	if (fstatat(dir, name, &old, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISDIR(old.st_mode))
			return -EISDIR;
		if (S_ISREG(old.st_mode))
			mode = old.st_mode & 0777;
	}
	fd = beneath_make_file(dir, temp, mode);
	if (fd < 0)
		return fd;
	r = io_write_all(fd, content.p, content.n);
	if (r == 0 && renameat(dir, temp, dir, name) < 0)
		r = -errno;
	if (r < 0)
		/* if unlinkat() fails, too, the caller still gets the first error */
		IGNORE(unlinkat(dir, temp, 0));
	return r;
}

/* Returns PATH without its last component, or "" if PATH has only one component. */
static char *parent_of(const char *path)
{
	size_t n = (size_t)(path_leaf(path) - path);

	return xstrndup(path, n ? n - 1 : 0);
}

static bool names_entry(const char *leaf)
{
	return *leaf && strcmp(leaf, ".") != 0 && strcmp(leaf, "..") != 0;
}

/* Returns the error for a write to PATH. The last component of PATH is "", "." or "..", so PATH can
 * only be a directory. The error is -EISDIR, or the reason why PATH cannot be opened, such as
 * -EXDEV. */
static int directory_at(int dir, const char *path)
{
	AUTO_FD fd = beneath_open(dir, path, O_PATH);

	return fd < 0 ? fd : -EISDIR;
}

int beneath_write(int dir, const char *path, struct str content)
{
	AUTO_FREE char *at = xstrdup(path);

	for (unsigned links = 0; links < LINKS_MAX; links++) {
		AUTO_FREE char *parent = parent_of(at);
		AUTO_FD in = beneath_make_dirs(dir, parent);
		char target[4096], *next; /* the kernel's PATH_MAX */
		ssize_t n;

		if (in < 0)
			return in;
		n = readlinkat(in, path_leaf(at), target, sizeof(target));
		if (n < 0)
			return names_entry(path_leaf(at))
				       ? beneath_replace(in, path_leaf(at), content)
				       : directory_at(dir, at);
		if (n == 0 || n == sizeof(target) || target[0] == '/')
			return -EXDEV;
		/* the next turn checks that the link's target is below DIR */
		next = xasprintf("%s%s%.*s", parent, *parent ? "/" : "", (int)n, target);
		free(at);
		at = next;
	}
	return -ELOOP;
}
