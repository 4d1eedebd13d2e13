/*
 * Hostile code may have made a tree very deep or very wide. So the walk of erase_tree() does not
 * recurse, and does not keep a descriptor for each level. It goes down by name and up by "..". For
 * each directory above the current one, the walk remembers the inode and an offset. On the way up,
 * the walk compares the inode to be sure that ".." is the same directory as on the way down. It
 * then goes on reading at the offset. If the walk read each directory from the start again, the
 * time would grow with the square of the entries. erase_part() needs no walk: it looks at one
 * directory only.
 *
 * Two commands may delete the same tree, so an entry that is already gone is no error. A dying
 * process may still write into the tree, so a directory that is not empty at the end is read again.
 */
#include "base/erase.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"

/* The most times that the walk enters one directory, or reads the top directory again. One reading
 * is not always enough. On tmpfs before Linux 6.6 the offset in a directory is a number of entries.
 * For example, we delete the first ten entries and go on reading at offset 10: this skips ten
 * entries that still exist. */
#define TRIES_MAX 64
#define ENTRIES_BYTES 4096u /* the buffer of one getdents64() */

/* The current directory, or one above it. */
struct level {
	dev_t dev;
	ino_t ino;
	off_t here, next; /* offsets in the directory: of the current entry, and of the next */
	unsigned tries;   /* how often we entered the current entry */
	int error;        /* the first error in this directory or below; the directory then stays */
};

struct walk {
	int at; /* the directory of the last level */
	struct level *level;
	size_t n, room;
	unsigned rounds; /* how often the top directory was read to its end and was not empty */
};

/* Lets the owner enter and change the directory NAME, and follows no link. Kernels before 6.6 lack
 * fchmodat2(). On such kernels libc uses /proc instead, but our confined programs cannot see /proc.
 * So a confined program cannot erase the directory on such a kernel; a later sweep erases it. */
static int let_owner_in(int dir, const char *name)
{
	int r = sys_fchmodat2(dir, name, 0700, AT_SYMLINK_NOFOLLOW);

	return r < 0 && errno == ENOSYS ? fchmodat(dir, name, 0700, AT_SYMLINK_NOFOLLOW) : r;
}

/* Opens a directory to empty it, after adding the owner's permissions if they are missing. Refuses
 * a mount point, because the mounted file system must not be emptied. */
static int open_dir(int parent, const char *name)
{
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				.resolve =
					RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV };
	int fd = sys_openat2(parent, name, &how);

	if (fd < 0 && errno == EACCES && let_owner_in(parent, name) == 0)
		fd = sys_openat2(parent, name, &how);
	return fd < 0 ? -errno : fd;
}

/* Goes on to the next entry. ERROR says why the current entry could not be removed, or is 0 if
 * it was removed. */
static void skip(struct level *l, int error)
{
	l->error = l->error ? l->error : error;
	l->here = l->next;
	l->tries = 0;
}

/* Enters the directory FD, which the walk closes later. If FD is negative, it is an error of
 * open_dir(), and enter() returns it. */
static int enter(struct walk *w, int fd)
{
	struct stat st;

	if (fd < 0)
		return fd;
	if (w->n == w->room) {
		w->room = w->room ? 2 * w->room : 16;
		w->level = xreallocarray(w->level, w->room, sizeof(*w->level));
	}
	if (fstat(fd, &st) < 0) {
		fd_closep(&fd);
		return -errno;
	}
	w->level[w->n++] = (struct level){ .dev = st.st_dev, .ino = st.st_ino };
	fd_closep(&w->at);
	w->at = fd;
	return 0;
}

/* Goes up. If a process has moved the current directory, its ".." is not the directory from which
 * the walk came and must not be emptied. In this case leave() returns -EBUSY. */
static int leave(struct walk *w)
{
	AUTO_FD up = openat(w->at, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct level *below = &w->level[--w->n];
	struct level *l = &w->level[w->n - 1];
	struct stat st;

	if (up < 0 || fstat(up, &st) < 0)
		return -errno;
	if (st.st_dev != l->dev || st.st_ino != l->ino)
		return -EBUSY;
	if (below->error)
		skip(l, below->error);
	fd_closep(&w->at);
	w->at = fd_take(&up);
	return 0;
}

/* Removes a file or an empty directory. Returns -ENOTEMPTY for a directory that is not empty. */
static int remove_entry(int dir, const char *name)
{
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno == EACCES && fchmod(dir, 0700) == 0 && unlinkat(dir, name, 0) == 0)
		return 0;
	if (errno != EISDIR && errno != EPERM && errno != EACCES)
		return -errno;
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	return errno == EEXIST ? -ENOTEMPTY : -errno;
}

/* Removes the entries of the last level, from the remembered offset on. Stops at the first
 * directory that is not empty and copies its name to SUB. If there is no such directory, SUB is
 * "". */
static int empty_level(struct walk *w, char sub[NAME_MAX + 1])
{
	_Alignas(struct dirent) char entries[ENTRIES_BYTES];
	struct level *l = &w->level[w->n - 1];
	long n;

	sub[0] = '\0';
	/* if another command has removed the directory, ext4 refuses the old offset (EINVAL). We
	 * then read from the start and find no entry */
	if (lseek(w->at, l->here, SEEK_SET) < 0 &&
	    (errno != EINVAL || lseek(w->at, 0, SEEK_SET) < 0))
		return -errno;
	while ((n = syscall(SYS_getdents64, w->at, entries, sizeof(entries))) > 0) {
		for (const char *p = entries; p < entries + n;) {
			const struct dirent *d = (const void *)p;
			size_t len = strlen(d->d_name);
			bool dots = strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0;
			int r = dots ? 0 : remove_entry(w->at, d->d_name);

			l->next = d->d_off;
			if (r == -ENOTEMPTY && len <= NAME_MAX && l->tries < TRIES_MAX) {
				memcpy(sub, d->d_name, len + 1);
				l->tries++;
				return 0;
			}
			skip(l, r);
			p += d->d_reclen;
		}
	}
	/* ENOENT means that another command has removed the directory */
	return n < 0 && errno != ENOENT ? -errno : 0;
}

/* Returns true if the directory FD is deleted. If a process has renamed another directory to the
 * name of FD, the name leads to that other directory, which must not be removed. */
static bool is_gone(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_nlink == 0;
}

/* Called when the top directory of the tree was read to its end. If an entry could not be removed,
 * returns the error. Otherwise removes the directory and returns 0 or -errno. Sets *RET_AGAIN to
 * true if this directory must be read once more. */
static int remove_top(struct walk *w, int dirfd, const char *name, bool *ret_again)
{
	int r = w->level[0].error;

	*ret_again = false;
	if (r || unlinkat(dirfd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return r;
	r = -errno;
	if (is_gone(w->at))
		return 0;
	*ret_again = r == -ENOTEMPTY && ++w->rounds < TRIES_MAX;
	w->level[0].here = 0;
	return r;
}

static int walk_down_and_up(struct walk *w, int dirfd, const char *name)
{
	char sub[NAME_MAX + 1];
	bool again;
	int r;

	for (;;) {
		r = empty_level(w, sub);
		if (r < 0)
			return r;
		if (sub[0]) {
			r = enter(w, open_dir(w->at, sub));
			if (r < 0 && r != -ENOENT)
				skip(&w->level[w->n - 1], r);
		} else if (w->n > 1) {
			r = leave(w);
			if (r < 0)
				return r;
		} else {
			r = remove_top(w, dirfd, name, &again);
			if (!again)
				return r;
		}
	}
}

int erase_tree(int dirfd, const char *name)
{
	struct walk w = { .at = -1 };
	int refused, r;

	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	refused = -errno;
	r = enter(&w, open_dir(dirfd, name));
	if (r == 0)
		r = walk_down_and_up(&w, dirfd, name);
	else if (r == -ENOTDIR)
		r = refused;
	fd_closep(&w.at);
	free(w.level);
	return r == -ENOENT ? 0 : r;
}

/* --- in pieces ------------------------------------------------------------------------------- */

struct part {
	int dirfd, at;
	const char *prefix;
	unsigned left; /* entries that may still be removed or moved */
	int error;     /* the first error */
};

/* Moves the directory NAME from P->at to P->dirfd. The kernel refuses to move a directory to which
 * its owner may not write (EACCES). In this case we add the permission and try again. Returns 0 or
 * -errno. */
static int move_out(const struct part *p, const char *name)
{
	unsigned long long tag;
	char fresh[NAME_MAX + 1];
	int n;

	if (getrandom(&tag, sizeof(tag), 0) != sizeof(tag))
		return -errno;
	n = snprintf(fresh, sizeof(fresh), "%s%016llx", p->prefix, tag);
	if (n < 0 || (size_t)n >= sizeof(fresh))
		return -ENAMETOOLONG;
	if (renameat(p->at, name, p->dirfd, fresh) == 0 || errno == ENOENT)
		return 0;
	if (errno == EACCES && let_owner_in(p->at, name) == 0 &&
	    renameat(p->at, name, p->dirfd, fresh) == 0)
		return 0;
	/* if the kernel has only Landlock's first version, it forbids moves between directories
	 * (EXDEV). In this case erase the whole tree now, however large it is */
	return errno == EXDEV ? erase_tree(p->at, name) : -errno;
}

/* Removes or moves the entries that one getdents64() has returned. */
static void handle_entries(struct part *p, const char *entries, long n)
{
	for (const char *at = entries; at < entries + n && p->left;) {
		const struct dirent *d = (const void *)at;
		int r;

		at += d->d_reclen;
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		r = remove_entry(p->at, d->d_name);
		if (r == -ENOTEMPTY)
			r = move_out(p, d->d_name);
		if (r < 0 && !p->error)
			p->error = r;
		/* do not count an entry that could not be removed or moved; otherwise each call
		 * could spend all of MAX on such entries */
		p->left -= r == 0;
	}
}

int erase_part(int dirfd, const char *name, const char *prefix, unsigned max)
{
	_Alignas(struct dirent) char entries[ENTRIES_BYTES];
	struct part p = { .dirfd = dirfd, .prefix = prefix, .left = max };
	AUTO_FD at = -1;
	long n;

	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	at = open_dir(dirfd, name);
	if (at < 0)
		return at == -ENOENT ? 0 : at;
	p.at = at;
	while (p.left && (n = syscall(SYS_getdents64, at, entries, sizeof(entries))) > 0)
		handle_entries(&p, entries, n);
	if (p.left == 0 || p.error)
		return p.left == 0 ? 1 : p.error;
	return unlinkat(dirfd, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -errno;
}
