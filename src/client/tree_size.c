/* A command may change the tree during the walk. Every directory is opened below its parent without
 * following links, so the walk never leaves the tree. Entries that vanish during the walk are not
 * counted. */
#include "client/tree_size.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/compat.h"

#define BLOCK_BYTES 512u /* the unit of st_blocks */
/* The blocks of a file may be larger than the file by SPARE_BYTES plus 1/SPARE_FRACTION of the
 * file's size. If the blocks are larger still, used_bytes() returns the size of the blocks. Some
 * excess is normal: a file's last block, of up to 64 KiB, is seldom full, and some blocks hold the
 * file's attributes and its list of blocks. */
#define SPARE_BYTES (64u << 10)
#define SPARE_FRACTION 8u

struct walk {
	DIR *open[TREE_DEPTH_MAX];
	unsigned depth;
	const char *path; /* for messages */
	struct tree_size size;
};

/* Enters the directory FD. The walk takes over FD. */
static int enter(struct walk *w, int fd, struct err *e)
{
	DIR *d = NULL;

	if (w->depth == TREE_DEPTH_MAX)
		errno = ELOOP;
	else
		d = fdopendir(fd);
	if (d) {
		w->open[w->depth++] = d;
		return 0;
	}
	fd_closep(&fd);
	return errno == ELOOP
		       ? err_set(e, ERR_LIMIT, "'%s' has more than %u directories in each other",
				 w->path, TREE_DEPTH_MAX)
		       : err_sys(e, errno, "read '%s'", w->path);
}

static void leave(struct walk *w)
{
	closedir(w->open[--w->depth]);
}

/* Returns the size of a file. If many blocks are reserved behind the file's end, returns the size
 * of all its blocks. Otherwise files that look empty could fill the disk. */
static uint64_t used_bytes(const struct stat *st)
{
	uint64_t size = (uint64_t)st->st_size, held = (uint64_t)st->st_blocks * BLOCK_BYTES;

	return held > size && held - size > SPARE_BYTES + size / SPARE_FRACTION ? held : size;
}

static int count(struct walk *w, const char *name, struct err *e)
{
	int above = dirfd(w->open[w->depth - 1]), fd;
	struct stat st;

	if (fstatat(above, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(e, errno, "read '%s'", w->path);
	w->size.entries++;
	if (!S_ISDIR(st.st_mode)) {
		w->size.bytes += used_bytes(&st);
		return 0;
	}
	fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP
			       ? 0
			       : err_sys(e, errno, "read a directory in '%s'", w->path);
	return enter(w, fd, e);
}

/* Counts the next entry of the innermost directory. If the entry is a directory, enters it. After
 * the last entry, leaves the innermost directory. */
static int step(struct walk *w, struct err *e)
{
	const struct dirent *d;

	errno = 0;
	d = readdir(w->open[w->depth - 1]);
	if (!d && errno)
		return err_sys(e, errno, "read '%s'", w->path);
	if (!d)
		leave(w);
	else if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
		return count(w, d->d_name, e);
	return 0;
}

int tree_measure(const char *path, uint64_t max_bytes, uint64_t max_entries, struct tree_size *ret,
		 struct err *e)
{
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS };
	struct walk w = { .path = path };
	int fd = sys_openat2(AT_FDCWD, path, &how);
	int r;

	if (fd < 0 && errno == ELOOP)
		return err_set(e, ERR_DENIED, "'%s' leads over a symbolic link", path);
	if (fd < 0)
		return err_sys(e, errno, "'%s'", path);
	r = enter(&w, fd, e);
	while (r == 0 && w.depth > 0 && (!max_bytes || w.size.bytes <= max_bytes) &&
	       (!max_entries || w.size.entries <= max_entries))
		r = step(&w, e);
	while (w.depth > 0)
		leave(&w);
	if (r == 0)
		*ret = w.size;
	return r;
}
