#include "files/save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/io.h"

#define FD_PATH_BYTES 32 /* "/proc/self/fd/" and a number */

bool save_is_unchanged(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Reads the state of the file NAME into RET and returns 1. Returns 0 if NAME does not exist, or
 * -errno if we must not write to it. */
static int look(int dir, const char *name, struct stat *ret)
{
	if (fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISREG(ret->st_mode))
		return 1;
	return S_ISLNK(ret->st_mode) ? -ELOOP : S_ISDIR(ret->st_mode) ? -EISDIR : -EINVAL;
}

/* Makes a file without a name in DIR. If we are killed, the kernel removes the file. Returns a
 * descriptor or -errno. */
static int make_unnamed(int dir)
{
	int fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

static int name_it(int fd, int dir, const char *name)
{
	char path[FD_PATH_BYTES];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, dir, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* Gives FD the owner and the mode of OLD, the file that is replaced. If OLD is NULL, FD gets the
 * owner of DIR and the mode 0644. */
static int copy_attributes(int fd, int dir, const struct stat *old)
{
	struct stat now, of;

	if (fstat(fd, &now) < 0 || (!old && fstat(dir, &of) < 0))
		return -errno;
	if (old)
		of = *old;
	/* this fails for an ordinary user, who may not change the owner of files. The new file
	 * then belongs to the user */
	if (of.st_uid != now.st_uid || of.st_gid != now.st_gid)
		IGNORE(fchown(fd, of.st_uid, of.st_gid));
	return fchmod(fd, old ? old->st_mode & 0777 : 0644) < 0 ? -errno : 0;
}

/* Called directly before the rename. Checks that NAME may still be replaced, and, if OLD is not
 * NULL, that NAME is still the file OLD. */
static int check(int dir, const char *name, const struct stat *old)
{
	struct stat now;
	int r = look(dir, name, &now);

	if (r < 0)
		return r;
	return old && (r == 0 || !save_is_unchanged(old, &now)) ? -ESTALE : 0;
}

int save_replace(int dir, const char *name, struct str content, const struct stat *old)
{
	AUTO_FREE char *temp = beneath_fresh_name(BENEATH_NEW);
	AUTO_FD fd = -1;
	struct stat before;
	bool named = false;
	int r = look(dir, name, &before);
	const struct stat *like = r == 1 ? &before : NULL;

	if (r < 0)
		return r;
	fd = make_unnamed(dir);
	if (fd == -EOPNOTSUPP || fd == -EISDIR) { /* the file system has no unnamed files */
		fd = beneath_make_file(dir, temp, 0600);
		named = true;
	}
	if (fd < 0)
		return fd;
	r = io_write_all(fd, content.p, content.n);
	if (r == 0)
		r = copy_attributes(fd, dir, like);
	if (r == 0)
		r = check(dir, name, old);
	if (r == 0 && !named) {
		r = name_it(fd, dir, temp);
		named = r == 0;
	}
	if (r == 0 && renameat(dir, temp, dir, name) < 0)
		r = -errno;
	if (r < 0 && named)
		/* R already has the first error, which is the one to report */
		IGNORE(unlinkat(dir, temp, 0));
	return r;
}

int save_append(int dir, const char *name, struct str content)
{
	AUTO_FD fd = -1;
	struct stat st;
	int r = look(dir, name, &st);

	if (r == 0)
		return save_replace(dir, name, content, NULL);
	if (r < 0)
		return r;
	fd = openat(dir, name,
		    O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? io_write_all(fd, content.p, content.n) : -EINVAL;
}
