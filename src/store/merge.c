/*
 * Merges the layers of an image into one tree, one layer after the other, each in two passes. The
 * first pass walks through the layer's directories and makes, replaces and removes names in the
 * tree. The first pass enters every directory of the layer. If the tree lacks the directory, the
 * first pass makes it. The second pass sets owners, modes, attributes and times of the layer's
 * directories, because the first pass changes the times of directories. If a layer only implies a
 * directory (IMAGE_IMPLIED_XATTR) that the tree had before this layer, the second pass leaves the
 * directory as it is.
 *
 * A directory is stored as (parent, name) and opened from its parent without following links. The
 * walk is depth first and the last few directories stay open, so a deep tree needs neither many
 * descriptors nor much time. A directory that the walk has made stays a directory until the end of
 * the layer, because every name occurs only once in a layer.
 */
#include "store/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/dir.h"
#include "base/erase.h"
#include "base/io.h"
#include "base/str.h"
#include "image/store.h"
#include "store/tree.h"
#include "store/worker.h"

#define COPY_BUFFER_BYTES (256u << 10)
#define XATTR_LIST_MAX_BYTES 65536u /* the kernel's own limits */
#define XATTR_VALUE_MAX_BYTES 65536u
#define OPAQUE "user.overlay.opaque"
#define LOST_AND_FOUND "lost+found"

struct directory {
	size_t parent; /* index in `dir`; the root is its own parent */
	char *name;
	bool new; /* this layer made the directory in the tree */
};

/* A file with several names, found by its inode number in the layer. */
struct shared_file {
	ino_t ino;
	size_t directory;
	char *name;
};

#define OPEN_DIRS 16 /* how many directories of each tree stay open */

/* A tree and its open directories, the most recently used first. */
struct side {
	int root; /* borrowed */
	struct {
		size_t dir;
		int fd;
	} open[OPEN_DIRS];
	size_t n_open;
};

struct merge {
	struct side from, to; /* the layer, and the tree that it is merged into */
	struct directory *dir;
	size_t n_dirs, room_dirs;
	size_t *stack; /* directories that were not entered yet; the array is as long as `dir` */
	size_t n_stack;
	/* a hash table with open addressing; ino 0 marks a free slot */
	struct shared_file *shared;
	size_t n_shared, room_shared;
	char *buffer, *list, *value;
};

static void close_side(struct side *s)
{
	while (s->n_open > 0)
		fd_closep(&s->open[--s->n_open].fd);
}

static void close_layer(struct merge *m)
{
	for (size_t i = 0; i < m->n_dirs; i++)
		free(m->dir[i].name);
	for (size_t i = 0; i < m->room_shared; i++)
		free(m->shared[i].name);
	free_p(&m->dir);
	free_p(&m->stack);
	free_p(&m->shared);
	m->n_dirs = m->room_dirs = m->n_stack = m->n_shared = m->room_shared = 0;
	close_side(&m->from);
	close_side(&m->to);
}

static int file_err(int errnum, const char *what, const char *name, struct err *e)
{
	return err_sys(e, errnum, "%s '%.200s'", what, name);
}

/* --- directories ----------------------------------------------------------------------------- */

static void remember(struct merge *m, size_t parent, const char *name, bool new)
{
	if (m->n_dirs == m->room_dirs) {
		m->room_dirs = m->room_dirs ? m->room_dirs * 2 : 256;
		m->dir = xreallocarray(m->dir, m->room_dirs, sizeof(*m->dir));
		m->stack = xreallocarray(m->stack, m->room_dirs, sizeof(*m->stack));
	}
	m->stack[m->n_stack++] = m->n_dirs;
	m->dir[m->n_dirs++] = (struct directory){ parent, xstrdup(name), new };
}

static int use(struct side *s, size_t dir, int fd)
{
	memmove(&s->open[1], &s->open[0], s->n_open * sizeof(s->open[0]));
	s->n_open++;
	s->open[0].dir = dir;
	s->open[0].fd = fd;
	return fd;
}

/* Opens the directory number DIR of the tree *S. *S owns the descriptor and may close it at the
 * next call. */
static int open_directory(struct merge *m, struct side *s, size_t dir, int *ret_fd, struct err *e)
{
	int parent, fd;

	if (dir == 0) {
		*ret_fd = s->root;
		return 0;
	}
	for (size_t i = 0; i < s->n_open; i++)
		if (s->open[i].dir == dir) {
			fd = s->open[i].fd;
			s->n_open--;
			memmove(&s->open[i], &s->open[i + 1], (s->n_open - i) * sizeof(s->open[0]));
			*ret_fd = use(s, dir, fd);
			return 0;
		}
	if (open_directory(m, s, m->dir[dir].parent, &parent, e) < 0)
		return -1;
	fd = openat(parent, m->dir[dir].name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return file_err(errno, "open the directory", m->dir[dir].name, e);
	if (s->n_open == OPEN_DIRS)
		fd_closep(&s->open[--s->n_open].fd);
	*ret_fd = use(s, dir, fd);
	return 0;
}

/* --- owner, mode, attributes and times ------------------------------------------------------- */

/* Removes attributes that the directory got from a lower layer. */
static int drop_xattrs(struct merge *m, int fd)
{
	ssize_t n = flistxattr(fd, m->list, XATTR_LIST_MAX_BYTES);

	for (ssize_t i = 0; i < n; i += (ssize_t)strlen(m->list + i) + 1)
		if (tree_keeps_xattr(m->list + i) && fremovexattr(fd, m->list + i) < 0)
			return -errno;
	return n < 0 && errno != ENOTSUP ? -errno : 0;
}

/* Copies extended attributes. Leaves out attributes that are too large for the file system, as
 * unpack.c does. */
static int copy_xattrs(struct merge *m, int from, int to)
{
	ssize_t n = flistxattr(from, m->list, XATTR_LIST_MAX_BYTES);

	if (n < 0)
		return errno == ENOTSUP ? 0 : -errno;
	for (ssize_t i = 0; i < n; i += (ssize_t)strlen(m->list + i) + 1) {
		ssize_t k;

		if (!tree_keeps_xattr(m->list + i))
			continue;
		k = fgetxattr(from, m->list + i, m->value, XATTR_VALUE_MAX_BYTES);
		if (k < 0 || (fsetxattr(to, m->list + i, m->value, (size_t)k, 0) < 0 &&
			      errno != ENOSPC && errno != E2BIG))
			return -errno;
	}
	return 0;
}

/* Copies the owner first, because chown clears setuid and file capabilities. */
static int copy_attributes(struct merge *m, int from, int to, const struct stat *st)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	int r;

	if (fchown(to, st->st_uid, st->st_gid) < 0)
		return -errno;
	r = copy_xattrs(m, from, to);
	if (r < 0)
		return r;
	if (fchmod(to, st->st_mode & 07777) < 0 || futimens(to, times) < 0)
		return -errno;
	return 0;
}

/* --- files with several names ---------------------------------------------------------------- */

static struct shared_file *slot_of(struct shared_file *table, size_t room, ino_t ino)
{
	size_t i = (size_t)(ino * 0x9e3779b97f4a7c15ull) % room;

	while (table[i].ino && table[i].ino != ino)
		i = (i + 1) % room;
	return &table[i];
}

static void share(struct merge *m, ino_t ino, size_t directory, const char *name)
{
	if (m->n_shared * 2 >= m->room_shared) {
		size_t room = m->room_shared ? m->room_shared * 2 : 256;
		struct shared_file *table = xcalloc(room, sizeof(*table));

		for (size_t i = 0; i < m->room_shared; i++)
			if (m->shared[i].ino)
				*slot_of(table, room, m->shared[i].ino) = m->shared[i];
		free(m->shared);
		m->shared = table;
		m->room_shared = room;
	}
	*slot_of(m->shared, m->room_shared, ino) =
		(struct shared_file){ ino, directory, xstrdup(name) };
	m->n_shared++;
}

/* If the file was already copied under another name, makes NAME a hard link to it and sets *RET to
 * true. */
static int link_shared(struct merge *m, ino_t ino, int to, const char *name, bool *ret,
		       struct err *e)
{
	const struct shared_file *s =
		m->room_shared ? slot_of(m->shared, m->room_shared, ino) : NULL;
	int dir;

	*ret = s && s->ino == ino;
	if (!*ret)
		return 0;
	if (open_directory(m, &m->to, s->directory, &dir, e) < 0)
		return -1;
	return linkat(dir, s->name, to, name, 0) < 0 ? file_err(errno, "link", name, e) : 0;
}

/* --- one name -------------------------------------------------------------------------------- */

static int copy_bytes(struct merge *m, int from, int to, off_t size)
{
	off_t at = 0;

	if (ftruncate(to, size) < 0)
		return -errno;
	while ((at = lseek(from, at, SEEK_DATA)) >= 0) {
		off_t hole = lseek(from, at, SEEK_HOLE);

		if (hole < 0 || lseek(from, at, SEEK_SET) < 0 || lseek(to, at, SEEK_SET) < 0)
			return -errno;
		while (at < hole) {
			size_t want = hole - at > COPY_BUFFER_BYTES ? COPY_BUFFER_BYTES
								    : (size_t)(hole - at);
			ssize_t n = read(from, m->buffer, want);
			int r;

			if (n <= 0)
				return n < 0 ? -errno : -EIO;
			r = io_write_all(to, m->buffer, (size_t)n);
			if (r < 0)
				return r;
			at += n;
		}
	}
	return errno == ENXIO ? 0 : -errno;
}

static int copy_file(struct merge *m, int from_dir, int to_dir, const char *name, struct err *e)
{
	AUTO_FD from = openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	AUTO_FD to = -1;
	struct stat st;
	int r;

	if (from < 0 || fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
		return file_err(from < 0 ? errno : EIO, "read", name, e);
	to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return file_err(errno, "make", name, e);
	r = copy_bytes(m, from, to, st.st_size);
	if (r == 0)
		r = copy_attributes(m, from, to, &st);
	return r < 0 ? file_err(-r, "copy", name, e) : 0;
}

/* Copies a symbolic link or a FIFO, which have only an owner, a mode and a time. */
static int copy_special(int from_dir, int to_dir, const char *name, const struct stat *st,
			struct err *e)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	char target[TREE_PATH_MAX_BYTES + 1];

	if (S_ISLNK(st->st_mode)) {
		ssize_t n = readlinkat(from_dir, name, target, sizeof(target) - 1);

		if (n < 0)
			return file_err(errno, "read the link", name, e);
		target[n] = '\0';
		if (symlinkat(target, to_dir, name) < 0)
			return file_err(errno, "make the link", name, e);
	} else if (mknodat(to_dir, name, S_IFIFO | 0600, 0) < 0) {
		return file_err(errno, "make the pipe", name, e);
	}
	if (fchownat(to_dir, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) < 0 ||
	    (S_ISFIFO(st->st_mode) && fchmodat(to_dir, name, st->st_mode & 07777, 0) < 0) ||
	    utimensat(to_dir, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return file_err(errno, "set the owner of", name, e);
	return 0;
}

static int erase(int dir, const char *name, struct err *e)
{
	int r = erase_tree(dir, name);

	return r < 0 ? file_err(-r, "replace", name, e) : 0;
}

static bool is_opaque(int dir, const char *name)
{
	AUTO_FD fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char value;

	return fd >= 0 && fgetxattr(fd, OPAQUE, &value, 1) == 1 && value == 'y';
}

static int merge_directory(struct merge *m, size_t parent, int from, int to, const char *name,
			   struct err *e)
{
	struct stat st;
	bool there = fstatat(to, name, &st, AT_SYMLINK_NOFOLLOW) == 0;

	if (there && (!S_ISDIR(st.st_mode) || is_opaque(from, name))) {
		if (erase(to, name, e) < 0)
			return -1;
		there = false;
	}
	if (!there && mkdirat(to, name, 0700) < 0)
		return file_err(errno, "make the directory", name, e);
	remember(m, parent, name, !there);
	return 0;
}

static int merge_file(struct merge *m, size_t parent, int from, int to, const char *name,
		      const struct stat *st, struct err *e)
{
	bool linked = false;

	if (erase(to, name, e) < 0)
		return -1;
	if (S_ISLNK(st->st_mode) || S_ISFIFO(st->st_mode))
		return copy_special(from, to, name, st, e);
	if (!S_ISREG(st->st_mode))
		/* skip the file: devices of an image are not trusted, and a socket is useless
		 * without its server */
		return 0;
	if (st->st_nlink > 1 && link_shared(m, st->st_ino, to, name, &linked, e) < 0)
		return -1;
	if (linked)
		return 0;
	if (st->st_nlink > 1)
		share(m, st->st_ino, parent, name);
	return copy_file(m, from, to, name, e);
}

static int merge_name(struct merge *m, size_t parent, int from, int to, const char *name,
		      struct err *e)
{
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return file_err(errno, "look at", name, e);
	if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(0, 0))
		return erase(to, name, e); /* a whiteout, which hides the lower file */
	if (S_ISDIR(st.st_mode))
		return merge_directory(m, parent, from, to, name, e);
	return merge_file(m, parent, from, to, name, &st, e);
}

/* --- layers ---------------------------------------------------------------------------------- */

static int read_names(struct merge *m, size_t i, DIR *dir, int to, struct err *e)
{
	struct dirent *entry;
	int r = 0;

	while (r == 0 && (errno = 0, entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = merge_name(m, i, dirfd(dir), to, entry->d_name, e);
	return r == 0 && errno ? err_sys(e, errno, "read a layer") : r;
}

static int merge_names(struct merge *m, size_t i, struct err *e)
{
	AUTO_DIR from = NULL;
	AUTO_FD to = -1;
	int from_fd, to_fd;

	if (open_directory(m, &m->from, i, &from_fd, e) < 0 ||
	    open_directory(m, &m->to, i, &to_fd, e) < 0)
		return -1;
	/* we open both directories again, because open_directory() may close its descriptors during
	 * the walk */
	from = dir_open(from_fd, ".");
	to = openat(to_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!from || to < 0)
		return err_sys(e, errno, "read a layer");
	return read_names(m, i, from, to, e);
}

static int set_directory_attributes(struct merge *m, size_t i, struct err *e)
{
	struct stat st;
	int from, to, r;
	char none;

	if (open_directory(m, &m->from, i, &from, e) < 0 ||
	    open_directory(m, &m->to, i, &to, e) < 0)
		return -1;
	if (fstat(from, &st) < 0)
		return file_err(errno, "look at", m->dir[i].name, e);
	if (!m->dir[i].new &&fgetxattr(from, IMAGE_IMPLIED_XATTR, &none, 0) >= 0)
		return 0;
	if (i == 0)
		st.st_mode |= IMAGE_ROOT_MODE;
	r = drop_xattrs(m, to);
	if (r == 0)
		r = copy_attributes(m, from, to, &st);
	return r < 0 ? file_err(-r, "set the owner of", m->dir[i].name, e) : 0;
}

static int merge_layer(struct merge *m, int layers_fd, const char *hex, struct err *e)
{
	AUTO_FREE char *path = xasprintf("%s/" IMAGE_LAYER_TREE, hex);
	AUTO_FD from = openat(layers_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r = 0;

	/* If the whiteouts of a layer are files named .wh.NAME, its tree is called
	 * IMAGE_LAYER_NAMED, and there is no IMAGE_LAYER_TREE. This code does not handle such
	 * whiteouts. */
	if (from < 0 && errno == ENOENT) {
		err_set(e, ERR_UNSUPPORTED, "layer %.12s hides files by name", hex);
		return err_hint(e, "make flat root disks where the state directory is not on an "
				   "overlay file system");
	}
	if (from < 0)
		return err_sys(e, errno, "open layer %s", hex);
	m->from.root = from;
	remember(m, 0, "", false);
	while (r == 0 && m->n_stack > 0)
		r = merge_names(m, m->stack[--m->n_stack], e);
	for (size_t i = 0; r == 0 && i < m->n_dirs; i++)
		r = set_directory_attributes(m, i, e);
	close_layer(m);
	return r < 0 ? err_wrap(e, "layer %.12s", hex) : 0;
}

/* Removes the directory lost+found, which mke2fs makes, from TO_FD. Then copies the trees
 * LAYERS_FD/HEX/root to TO_FD. LIST is "HEX,HEX,…", the lowest layer first. */
static int merge_layers(int layers_fd, const char *list, int to_fd, struct err *e)
{
	AUTO_FREE char *words = xstrdup(list);
	AUTO_FREE char *buffer = xcalloc(1, COPY_BUFFER_BYTES);
	AUTO_FREE char *names = xcalloc(1, XATTR_LIST_MAX_BYTES);
	AUTO_FREE char *value = xcalloc(1, XATTR_VALUE_MAX_BYTES);
	/* TO_FD may be a mount's O_PATH descriptor, which cannot be read */
	AUTO_FD to = openat(to_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct merge m = { .to.root = to, .buffer = buffer, .list = names, .value = value };
	char *rest = words, *hex;
	int r = to < 0 ? err_sys(e, errno, "open the new tree") : erase(to, LOST_AND_FOUND, e);

	while (r == 0 && (hex = strsep(&rest, ",")))
		r = digest_hex_valid(hex) ? merge_layer(&m, layers_fd, hex, e)
					  : err_set(e, ERR_USAGE, "'%.80s' is not a layer", hex);
	return r;
}

int merge_run(const char *arg, enum layer_owners owners, struct json_writer *reply, struct err *e)
{
	if (merge_layers(STDIN_FILENO, arg ? arg : "", WORKER_DIR_FD, e) < 0)
		return -1;
	json_begin_object(reply);
	json_end_object(reply);
	return 0;
}
