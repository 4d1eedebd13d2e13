#include "tree/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "tree/inodes.h"
#include "wire/file.h"

#ifndef CGROUP2_SUPER_MAGIC
#define CGROUP2_SUPER_MAGIC 0x63677270
#endif

#define BATCH_BYTES FRAME_DATA_MAX_BYTES /* records are passed on once they have this size */
/* the longest path that a message shows */
#define PATH_MAX_BYTES ((TREE_DEPTH_MAX + 2) * (FILE_NAME_MAX_BYTES + 1))

struct walk {
	const struct tree_sink *sink;
	struct buf out;
	struct buf path; /* path of the current file, from the source's name on */
	char *chunk;
	unsigned depth;
	struct inodes shared; /* files with several names, in the order of sending */
	size_t shared_bytes;  /* length of the paths of these files */
	struct err *e;
};

static int flush(struct walk *w)
{
	int r;

	if (buf_failed(&w->out))
		return err_set(w->e, ERR_LIMIT, "no memory to copy with");
	r = w->out.n ? w->sink->write(w->sink->arg, w->out.p, w->out.n, w->e) : 0;
	buf_clear(&w->out);
	return r;
}

static int flush_when_full(struct walk *w)
{
	return w->out.n >= BATCH_BYTES || buf_failed(&w->out) ? flush(w) : 0;
}

/* Reports something that cannot be copied; the walk goes on. */
static int skip(struct walk *w, enum file_record_type type, const char *why)
{
	AUTO_BUF text = BUF_INIT(PATH_MAX_BYTES + 256);

	buf_addf(&text, "'%s' is not copied: %s", buf_str(&w->path), why);
	file_put_note(&w->out, type, buf_str(&text));
	return flush_when_full(w);
}

static int miss(struct walk *w, int errnum)
{
	return skip(w, FILE_MISS, strerror(errnum));
}

static int open_entry(int dirfd, const char *name, unsigned flags)
{
	/* O_NONBLOCK: a FIFO in the place of a file must not block us */
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };

	return sys_openat2(dirfd, name, &how);
}

/* --- files ----------------------------------------------------------------------------------- */

/* Moves *AT to the next bytes of data, sets *RET_END to the end of these bytes, and sends the gap
 * before them as a hole. Returns false if no data follows. */
static bool next_data(struct walk *w, int fd, off_t *at, off_t *ret_end)
{
	off_t data = lseek(fd, *at, SEEK_DATA);
	struct stat st;

	if (data < 0 && errno == ENXIO) { /* the rest of the file is a hole */
		if (fstat(fd, &st) == 0 && st.st_size > *at)
			file_put_hole(&w->out, (uint64_t)(st.st_size - *at));
		return false;
	}
	if (data < 0)
		data = *at; /* this file system does not report holes */
	if (data > *at)
		file_put_hole(&w->out, (uint64_t)(data - *at));
	*at = data;
	*ret_end = lseek(fd, data, SEEK_HOLE);
	return lseek(fd, data, SEEK_SET) == data;
}

static int send_bytes(struct walk *w, int fd, bool sparse)
{
	off_t at = 0, end = -1;

	for (;;) {
		size_t want = FILE_RECORD_MAX_BYTES;
		ssize_t n;

		if (sparse && at >= end && !next_data(w, fd, &at, &end))
			return 0;
		if (sparse && end > at && (off_t)want > end - at)
			want = (size_t)(end - at);
		n = read(fd, w->chunk, want);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return miss(w, errno);
		if (n == 0)
			return 0;
		file_put_data(&w->out, w->chunk, (size_t)n);
		at += n;
		if (flush_when_full(w) < 0)
			return -1;
	}
}

/* Handles a file that has several names (hard links). If the receiver understands records of the
 * type SAME, and the file was already sent under another name, sends a SAME record and returns
 * true. Otherwise returns false, and the caller sends the whole file. *RET_FIRST becomes true if
 * this is the first name of the file, and SAME will be sent for its other names. We remember at
 * most FILE_SHARED_MAX files, with FILE_SHARED_PATHS_MAX_BYTES of paths. A file that we do not
 * remember is sent whole under each of its names. */
static bool send_same(struct walk *w, const struct stat *st, const char *name, bool *ret_first)
{
	uint32_t number;

	*ret_first = false;
	if (!w->sink->keep_same || st->st_nlink < 2 || w->depth == 0)
		return false;
	if (inodes_find(&w->shared, st->st_dev, st->st_ino, &number)) {
		file_put_same(&w->out, number, name);
		return true;
	}
	if (w->shared.n == FILE_SHARED_MAX ||
	    w->shared_bytes + w->path.n + 1 > FILE_SHARED_PATHS_MAX_BYTES)
		return false;
	inodes_add(&w->shared, st->st_dev, st->st_ino);
	w->shared_bytes += w->path.n + 1;
	*ret_first = true;
	return false;
}

/* Takes over FD. */
static int send_open_file(struct walk *w, int fd, const char *as)
{
	AUTO_FD file = fd;
	struct stat st;
	bool first;
	int r;

	if (fstat(file, &st) < 0)
		return miss(w, errno);
	if (!S_ISREG(st.st_mode))
		return skip(w, FILE_NOTE, "it changed while it was read");
	if (send_same(w, &st, as, &first))
		return flush_when_full(w);
	file_put_file(&w->out, st.st_mode & 07777, as);
	if (first)
		file_put_shared(&w->out);
	/* pseudo files report no size and no blocks, so we do not look for holes in them */
	r = send_bytes(w, file, st.st_size > 0 && st.st_blocks * 512 < st.st_size);
	file_put_end(&w->out);
	return r < 0 ? -1 : flush_when_full(w);
}

static int send_file(struct walk *w, int dirfd, const char *name)
{
	int fd = open_entry(dirfd, name, 0);

	return fd < 0 ? miss(w, errno) : send_open_file(w, fd, name);
}

static int send_link(struct walk *w, int dirfd, const char *name)
{
	char target[FILE_TARGET_MAX_BYTES + 1];
	ssize_t n = readlinkat(dirfd, name, target, sizeof(target));

	if (n <= 0 || n > (ssize_t)FILE_TARGET_MAX_BYTES)
		return miss(w, n < 0 ? errno : ENAMETOOLONG);
	target[n] = '\0';
	file_put_link(&w->out, name, target);
	return flush_when_full(w);
}

/* --- directories ----------------------------------------------------------------------------- */

static int send_entry(struct walk *w, int dirfd, const char *name, dev_t parent_dev);

/* Returns true for a kernel interface such as /proc. Files of such an interface are not copied,
 * because some never end, and reading some has effects. */
static bool is_pseudo(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	switch ((unsigned long)fs.f_type) {
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
	case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC:
	case DEBUGFS_MAGIC:
	case TRACEFS_MAGIC:
	case DEVPTS_SUPER_MAGIC:
		return true;
	}
	return false;
}

static int send_entries(struct walk *w, int fd, dev_t dev)
{
	DIR *d = fdopendir(fd);
	struct dirent *entry;
	size_t before = w->path.n;
	int r = 0;

	if (!d) {
		fd_closep(&fd);
		return miss(w, errno);
	}
	w->depth++;
	while (r == 0 && (errno = 0, entry = readdir(d))) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		buf_addf(&w->path, "%s%s", before ? "/" : "", name);
		r = send_entry(w, dirfd(d), name, dev);
		buf_cut(&w->path, before);
	}
	if (r == 0 && errno)
		r = miss(w, errno);
	w->depth--;
	closedir(d);
	return r;
}

/* Takes over FD. */
static int send_dir(struct walk *w, int fd, const char *as, dev_t parent_dev)
{
	AUTO_FD dir = fd;
	struct stat st;

	if (fstat(dir, &st) < 0)
		return miss(w, errno);
	if (w->depth >= TREE_DEPTH_MAX)
		return skip(w, FILE_MISS, "it is too deep");
	if (st.st_dev != parent_dev && w->depth > 0 && is_pseudo(dir))
		return skip(w, FILE_NOTE, "it is an interface of the kernel");
	file_put_dir(&w->out, st.st_mode & 07777, as);
	if (send_entries(w, fd_take(&dir), st.st_dev) < 0)
		return -1;
	file_put_end(&w->out);
	return flush_when_full(w);
}

static const char *kind(mode_t mode)
{
	return S_ISFIFO(mode)   ? "it is a FIFO"
	       : S_ISSOCK(mode) ? "it is a socket"
				: "it is a device";
}

static int send_entry(struct walk *w, int dirfd, const char *name, dev_t parent_dev)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : miss(w, errno); /* deleted since it was listed */
	if (S_ISDIR(st.st_mode)) {
		int fd = open_entry(dirfd, name, O_DIRECTORY);

		return fd < 0 ? miss(w, errno) : send_dir(w, fd, name, parent_dev);
	}
	if (S_ISREG(st.st_mode))
		return send_file(w, dirfd, name);
	if (S_ISLNK(st.st_mode))
		return send_link(w, dirfd, name);
	return skip(w, FILE_NOTE, kind(st.st_mode));
}

/* --- the source itself ----------------------------------------------------------------------- */

/* Sends the file, directory or link at the path that the user named. If this object cannot be
 * copied, fails and sends no NOTE. */
static int send_source(struct walk *w, const char *path, int dirfd, const char *name, bool follow)
{
	struct stat st;
	int fd;

	if (fstatat(dirfd, name, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(w->e, errno, "'%s'", path);
	if (S_ISDIR(st.st_mode)) {
		fd = openat(dirfd, name,
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
		if (fd < 0)
			return err_sys(w->e, errno, "'%s'", path);
		return send_dir(w, fd, file_name_valid(name) ? name : "", st.st_dev);
	}
	if (follow)
		return err_sys(w->e, ENOTDIR, "'%s'", path);
	if (S_ISREG(st.st_mode)) {
		/* an unreadable source is an error, since there is nothing else to copy */
		if (faccessat(dirfd, name, R_OK, AT_EACCESS) < 0)
			return err_sys(w->e, errno, "'%s'", path);
		return send_file(w, dirfd, name);
	}
	if (S_ISLNK(st.st_mode))
		return send_link(w, dirfd, name);
	return err_set(w->e, ERR_INVALID, "'%s' cannot be copied: %s", path, kind(st.st_mode));
}

static int walk_from(struct walk *w, const char *path)
{
	AUTO_FREE char *parent = xstrdup(path);
	size_t n = strlen(parent);
	bool follow = false;
	AUTO_FD dirfd = -1;
	char *slash;

	while (n > 1 && parent[n - 1] == '/') {
		parent[--n] = '\0';
		follow = true;
	}
	slash = strrchr(parent, '/');
	if (!slash || !file_name_valid(slash + 1)) {
		/* PATH has no slash, or its last part cannot be the name of the copy (as in "/",
		 * ".." and "a/."). So PATH is not split into a directory and a name, and is looked
		 * up as a whole from the current directory */
		buf_add_str(&w->path, file_name_valid(parent) ? parent : "");
		return send_source(w, path, AT_FDCWD, parent, follow || !file_name_valid(parent));
	}
	buf_add_str(&w->path, slash + 1);
	*slash = '\0';
	dirfd = open(slash == parent ? "/" : parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dirfd < 0)
		return err_sys(w->e, errno, "'%s'", path);
	return send_source(w, path, dirfd, slash + 1, follow);
}

/* Takes over FD. */
static int walk_fd(struct walk *w, int fd, const char *as)
{
	struct stat st;

	buf_add_str(&w->path, as);
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		return send_dir(w, fd, as, st.st_dev);
	return send_open_file(w, fd, as);
}

/* Walks from PATH, or from FD if PATH is NULL. */
static int walk(const char *path, int fd, const char *as, const struct tree_sink *s, struct err *e)
{
	AUTO_FREE char *chunk = xcalloc(1, FILE_RECORD_MAX_BYTES);
	struct walk w = { .sink = s, .chunk = chunk, .e = e };
	int r;

	buf_init(&w.out, 4 * BATCH_BYTES);
	buf_init(&w.path, PATH_MAX_BYTES);
	r = path ? walk_from(&w, path) : walk_fd(&w, fd, as);
	if (r == 0)
		r = flush(&w);
	buf_done(&w.out);
	buf_done(&w.path);
	inodes_done(&w.shared);
	return r;
}

int tree_walk(const char *path, const struct tree_sink *s, struct err *e)
{
	return walk(path, -1, NULL, s, e);
}

int tree_walk_fd(int fd, const char *as, const struct tree_sink *s, struct err *e)
{
	return walk(NULL, fd, as, s, e);
}
