#include "tree/build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/io.h"

#define WHERE_MAX_BYTES ((TREE_DEPTH_MAX + 2) * (FILE_NAME_MAX_BYTES + 1))
#define LINK_MAX_BYTES 8192u /* the longest target, with "../" for each directory up to the top */

/* A file of this stream to which a SAME record may refer. */
struct tree_shared {
	dev_t dev;
	ino_t ino;
	size_t path; /* offset of the path in shared_paths */
};

struct tree_build *
tree_build_new(const char *path, unsigned flags,
	       void (*note)(void *arg, enum file_record_type type, const char *text), void *arg)
{
	struct tree_build *b = xcalloc(1, sizeof(*b));

	b->path = path;
	b->at = AT_FDCWD;
	b->flags = flags;
	b->note = note;
	b->arg = arg;
	b->file = -1;
	buf_init(&b->in, 2 * FILE_RECORD_MAX_BYTES + FILE_RECORD_HEADER_BYTES);
	buf_init(&b->where, WHERE_MAX_BYTES);
	buf_init(&b->shared, FILE_SHARED_MAX * sizeof(struct tree_shared));
	buf_init(&b->shared_paths, FILE_SHARED_PATHS_MAX_BYTES);
	return b;
}

void tree_build_free(struct tree_build *b)
{
	if (!b)
		return;
	while (b->depth > 0)
		fd_closep(&b->level[--b->depth].fd);
	fd_closep(&b->file);
	buf_done(&b->in);
	buf_done(&b->where);
	buf_done(&b->shared);
	buf_done(&b->shared_paths);
	free(b);
}

/* --- links ----------------------------------------------------------------------------------- */

/* Adds PATH's components to REST without "." and empty components. A ".." behind a name is left out
 * together with this name: "a/../b" becomes "b". This is done even if "a" is a link. Otherwise the
 * kernel would follow "a" and go up from the directory to which "a" leads, maybe out of the tree.
 * *RET_UPS counts the ".." that have no name in front. Returns false if there are too many
 * components, or if REST has failed. */
static bool clean_path(const char *path, struct buf *rest, unsigned *ret_ups)
{
	size_t part[FILE_TARGET_MAX_BYTES / 2 + 1]; /* where each component starts in `rest` */
	unsigned n_parts = 0;

	*ret_ups = 0;
	for (const char *p = path; *(p += strspn(p, "/"));) {
		size_t n = strcspn(p, "/");

		if (n == 2 && memcmp(p, "..", 2) == 0) {
			if (n_parts > 0)
				buf_cut(rest, part[--n_parts]);
			else
				++*ret_ups;
		} else if (n != 1 || *p != '.') {
			if (n_parts == ARRAY_SIZE(part))
				return false;
			part[n_parts++] = rest->n;
			if (rest->n)
				buf_add_char(rest, '/');
			buf_add(rest, p, n);
		}
		p += n;
	}
	return !buf_failed(rest);
}

/* Removes the path SOURCE from the front of REST. Returns false if REST does not begin with SOURCE,
 * or if SOURCE is NULL or not an absolute path that clean_path() can read. */
static bool cut_source(const char *source, struct buf *rest)
{
	AUTO_BUF top = BUF_INIT(LINK_MAX_BYTES);
	unsigned ups;

	if (!source || *source != '/' || !clean_path(source, &top, &ups))
		return false;
	if (top.n == 0)
		return true;
	if (rest->n < top.n || memcmp(rest->p, top.p, top.n) != 0)
		return false;
	if (rest->n > top.n && rest->p[top.n] != '/')
		return false;
	buf_drop(rest, rest->n > top.n ? top.n + 1 : top.n);
	return true;
}

bool tree_confine_link(const char *target, const char *source, unsigned depth, struct buf *out)
{
	AUTO_BUF rest = BUF_INIT(LINK_MAX_BYTES);
	unsigned ups;

	if (!clean_path(target, &rest, &ups))
		return false;
	if (*target == '/') {
		if (!cut_source(source, &rest))
			return false;
		ups = depth;
	}
	if (ups > depth)
		return false;
	for (unsigned i = 0; i < ups; i++)
		buf_add_str(out, i + 1 < ups || rest.n ? "../" : "..");
	buf_add(out, rest.p, rest.n);
	if (out->n == 0)
		buf_add_char(out, '.');
	return !buf_failed(out);
}

int tree_name_of(const char *path, char ret[FILE_NAME_MAX_BYTES + 1])
{
	size_t end = strlen(path), n = 0;

	while (end > 0 && path[end - 1] == '/')
		end--;
	while (n < end && path[end - n - 1] != '/')
		n++;
	if (n > FILE_NAME_MAX_BYTES)
		return -ENAMETOOLONG;
	memcpy(ret, path + end - n, n);
	ret[n] = '\0';
	if (!file_name_valid(ret))
		ret[0] = '\0';
	return 0;
}

/* --- making things --------------------------------------------------------------------------- */

static const char *where(struct tree_build *b)
{
	return b->where.n ? b->where.p : b->path;
}

static int failed(struct tree_build *b, const char *what, struct err *e)
{
	if (errno == EEXIST)
		return err_set(e, ERR_EXISTS, "'%s' exists already and is not overwritten",
			       where(b));
	return err_sys(e, errno, "%s '%s'", what, where(b));
}

static void note(struct tree_build *b, enum file_record_type type, const char *why)
{
	AUTO_BUF text = BUF_INIT(WHERE_MAX_BYTES + LINK_MAX_BYTES);

	buf_addf(&text, "'%s' %s", where(b), why);
	b->note(b->arg, type, buf_str(&text));
}

static int open_below(const struct tree_build *b, int dir, const char *name, uint64_t flags,
		      unsigned mode)
{
	struct open_how how = { .flags = flags | O_CLOEXEC,
				.mode = mode,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
					   (b->flags & TREE_OWN ? RESOLVE_NO_XDEV : 0) };

	return sys_openat2(dir, name, &how);
}

/* Removes what exists in the place of a new file or link, except with TREE_OWN. Returns false and
 * sets errno if that fails. */
static bool make_way(const struct tree_build *b, int dir, const char *name)
{
	return b->flags & TREE_OWN || unlinkat(dir, name, 0) == 0 || errno == ENOENT;
}

static int push(struct tree_build *b, int fd, unsigned mode, bool ours, size_t where_n,
		struct err *e)
{
	if (b->depth >= TREE_DEPTH_MAX) {
		fd_closep(&fd);
		return err_set(e, ERR_LIMIT, "'%s' is deeper than %u directories", where(b),
			       TREE_DEPTH_MAX);
	}
	b->level[b->depth++] = (struct tree_level){ fd, mode, ours, where_n };
	return 0;
}

static int make_dir(struct tree_build *b, int dir, const char *name, size_t where_n, struct err *e)
{
	bool ours = mkdirat(dir, name, 0700) == 0;
	int fd;

	if (!ours && (errno != EEXIST || b->flags & TREE_OWN))
		return failed(b, "make directory", e);
	fd = open_below(b, dir, name, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0 && errno == ELOOP)
		return err_set(e, ERR_DENIED, "'%s' is a link and is not followed", where(b));
	if (fd < 0)
		return failed(b, "open directory", e);
	return push(b, fd, b->record.mode, ours, where_n, e);
}

static int make_file(struct tree_build *b, int dir, const char *name, struct err *e)
{
	struct stat st;

	b->fresh = false;
	if (make_way(b, dir, name)) {
		b->fresh = true;
		b->file = open_below(b, dir, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	} else if (errno == EBUSY) { /* a mounted file cannot be replaced, only written to */
		b->file = open_below(b, dir, name, O_WRONLY | O_TRUNC | O_NONBLOCK, 0);
		if (b->file >= 0 && (fstat(b->file, &st) < 0 || !S_ISREG(st.st_mode))) {
			fd_closep(&b->file);
			errno = EINVAL;
		}
	}
	if (b->file < 0)
		return failed(b, "make file", e);
	b->file_mode = b->record.mode;
	b->file_at = 0;
	return 0;
}

static int make_link(struct tree_build *b, int dir, const char *name, struct err *e)
{
	AUTO_BUF target = BUF_INIT(LINK_MAX_BYTES);

	if (!(b->flags & TREE_OUTSIDE)) {
		buf_add_str(&target, b->record.target);
	} else if (b->depth == 0 ||
		   !tree_confine_link(b->record.target, b->source, b->depth - 1, &target)) {
		AUTO_BUF why = BUF_INIT(LINK_MAX_BYTES);

		buf_addf(&why, "is not copied: it is a link to '%s', outside the copied tree",
			 b->record.target);
		/* a MISS if the stream consists of this link alone: nothing was copied */
		note(b, b->depth == 0 ? FILE_MISS : FILE_NOTE, buf_str(&why));
		return 0;
	}
	if (!make_way(b, dir, name) || symlinkat(buf_str(&target), dir, name) < 0)
		return failed(b, "make link", e);
	return 0;
}

/* --- hard links ------------------------------------------------------------------------------ */

static int bad_stream(struct err *e)
{
	return err_set(e, ERR_PROTOCOL, "the stream of files makes no sense");
}

/* Notes that later records may give more names to the file that is being written. Stores the path
 * of the file, relative to the top of the tree that the stream makes. Returns 0 or -1. */
static int on_shared(struct tree_build *b, struct err *e)
{
	struct tree_shared s = { .path = b->shared_paths.n };
	struct stat st;

	if (b->file < 0 || b->file_at > 0 || b->depth == 0)
		return bad_stream(e);
	if (fstat(b->file, &st) < 0)
		return failed(b, "look at", e);
	if (b->fresh) { /* a file that existed before must get no second name */
		s.dev = st.st_dev;
		s.ino = st.st_ino;
	}
	buf_add_str(&b->shared_paths, b->where.p + b->top_n);
	buf_add_char(&b->shared_paths, '\0');
	buf_add(&b->shared, &s, sizeof(s));
	if (buf_failed(&b->shared) || buf_failed(&b->shared_paths))
		return err_set(e, ERR_LIMIT, "more than %u files have several names",
			       FILE_SHARED_MAX);
	b->fresh = false;
	return 0;
}

/* Opens the directory that holds PATH, which is below the top. Sets *RET_BASE to PATH's last
 * component. */
static int open_shared(const struct tree_build *b, const char *path, const char **ret_base)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *parent = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");

	*ret_base = slash ? slash + 1 : path;
	return open_below(b, b->level[0].fd, parent, O_PATH | O_DIRECTORY, 0);
}

/* If the path of the file S still leads to the same inode, gives this file the second name NAME.
 * Otherwise fails, because the stream may have replaced the file by a symbolic link. This link
 * could lead out of the tree if it got a second name in a directory further up. */
static int link_shared(struct tree_build *b, const struct tree_shared *s, int dir, const char *name)
{
	const char *base;
	AUTO_FD from = open_shared(b, b->shared_paths.p + s->path, &base);
	struct stat st;

	if (from < 0 || fstatat(from, base, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_ino != s->ino || st.st_dev != s->dev)
		return -ESTALE;
	if (!make_way(b, dir, name) || linkat(from, base, dir, name, 0) < 0)
		return -errno;
	return 0;
}

static int make_same(struct tree_build *b, int dir, const char *name, struct err *e)
{
	AUTO_BUF why = BUF_INIT(WHERE_MAX_BYTES + 256);
	struct tree_shared s;
	int r;

	if (b->depth == 0 || b->record.number >= b->shared.n / sizeof(s))
		return bad_stream(e);
	memcpy(&s, b->shared.p + b->record.number * sizeof(s), sizeof(s));
	r = link_shared(b, &s, dir, name);
	if (r == 0)
		return 0;
	buf_addf(&why, "is not copied: it is another name of '%s': %s", b->shared_paths.p + s.path,
		 strerror(-r));
	note(b, FILE_MISS, buf_str(&why));
	return 0;
}

/* --- records --------------------------------------------------------------------------------- */

static int make_entry(struct tree_build *b, int dir, const char *name, struct err *e)
{
	size_t before = b->where.n;
	int r;

	if (b->flags & TREE_OUTSIDE && disk_limit_take(&b->disk_limit, dir, 0, 1, e) < 0)
		return err_wrap(e, "'%s'", b->path);
	if (before)
		buf_add_char(&b->where, '/');
	buf_add_str(&b->where, name);
	switch (b->record.type) {
	case FILE_DIR:
		return make_dir(b, dir, name, before, e);
	case FILE_FILE:
		r = make_file(b, dir, name, e);
		b->level[b->depth].where_n = before; /* END cuts b->where to this length */
		return r;
	default:
		r = b->record.type == FILE_SAME ? make_same(b, dir, name, e)
						: make_link(b, dir, name, e);
		buf_cut(&b->where, before);
		return r;
	}
}

/* Makes the outermost entry, whose name we have just got. Before that, opens the directory in which
 * the entry goes: from now on the path of this directory is not resolved again (tree/place.h). */
static int place_entry(struct tree_build *b, struct err *e)
{
	const char *name = b->name ? b->name : b->record.name;
	struct tree_place p;
	AUTO_FD dir = -1;
	int r;

	b->placed = true;
	if (!name[0] && b->record.type != FILE_DIR)
		return bad_stream(e);
	r = b->flags & TREE_OWN ? tree_place_own(b->path, name, b->flags & TREE_EXACT, &p, e)
				: tree_place(b->at, b->path, name, b->flags & TREE_EXACT, &p, e);
	dir = p.dir;
	if (r < 0)
		return -1;
	if (!p.name[0]) /* the contents go into an existing directory */
		return push(b, fd_take(&dir), 0, false, 0, e);
	b->top_n = strlen(p.name) + 1;
	return make_entry(b, dir, p.name, e);
}

static int on_entry(struct tree_build *b, struct err *e)
{
	if (b->file >= 0)
		return bad_stream(e);
	if (b->depth > 0)
		return b->record.name[0]
			       ? make_entry(b, b->level[b->depth - 1].fd, b->record.name, e)
			       : bad_stream(e);
	return b->placed ? bad_stream(e) : place_entry(b, e);
}

static int on_data(struct tree_build *b, struct err *e)
{
	int r;

	if (b->file < 0)
		return bad_stream(e);
	if (b->record.type == FILE_HOLE) {
		if (__builtin_add_overflow(b->file_at, (off_t)b->record.size, &b->file_at) ||
		    lseek(b->file, b->file_at, SEEK_SET) < 0)
			return err_sys(e, EFBIG, "'%s'", where(b));
		return 0;
	}
	if (b->flags & TREE_OUTSIDE &&
	    disk_limit_take(&b->disk_limit, b->file, b->record.data.n, 0, e) < 0)
		return err_wrap(e, "'%s'", b->path);
	r = io_write_all(b->file, b->record.data.p, b->record.data.n);
	b->file_at += (off_t)b->record.data.n;
	return r < 0 ? err_sys(e, -r, "write '%s'", where(b)) : 0;
}

static void set_mode(struct tree_build *b, int fd, unsigned mode)
{
	bool lowered = b->flags & TREE_OUTSIDE && mode & (S_ISUID | S_ISGID);

	if (lowered)
		mode &= ~(unsigned)(S_ISUID | S_ISGID);
	if (fchmod(fd, mode) < 0)
		note(b, FILE_NOTE, "did not keep its mode");
	else if (lowered)
		note(b, FILE_NOTE, "is copied without its set-user-id and set-group-id bits");
}

static int on_end(struct tree_build *b, struct err *e)
{
	struct tree_level *l;

	if (b->file >= 0) {
		if (ftruncate(b->file, b->file_at) < 0) /* the file may end in a hole */
			return failed(b, "write", e);
		set_mode(b, b->file, b->file_mode);
		fd_closep(&b->file);
		buf_cut(&b->where, b->level[b->depth].where_n);
		return 0;
	}
	if (b->depth == 0)
		return bad_stream(e);
	l = &b->level[--b->depth];
	if (l->ours)
		set_mode(b, l->fd, l->mode);
	fd_closep(&l->fd);
	buf_cut(&b->where, l->where_n);
	return 0;
}

static int on_record(struct tree_build *b, struct err *e)
{
	if (b->ended)
		return bad_stream(e);
	switch (b->record.type) {
	case FILE_DIR:
	case FILE_FILE:
	case FILE_LINK:
	case FILE_SAME:
		return on_entry(b, e);
	case FILE_SHARED:
		return on_shared(b, e);
	case FILE_DATA:
	case FILE_HOLE:
		return on_data(b, e);
	case FILE_END:
		return on_end(b, e);
	case FILE_NOTE:
	case FILE_MISS:
		b->note(b->arg, b->record.type, b->record.text);
		return 0;
	case FILE_FAIL:
		return err_set(e, (enum err_code)b->record.code, "%s", b->record.text);
	case FILE_DONE:
		b->ended = true;
		return b->depth > 0 || b->file >= 0 ? bad_stream(e) : 0;
	}
	return bad_stream(e);
}

int tree_build_feed(struct tree_build *b, const void *p, size_t n, struct err *e)
{
	while (n > 0) {
		size_t k = n < FILE_RECORD_MAX_BYTES ? n : FILE_RECORD_MAX_BYTES;
		struct str in;
		int r;

		buf_add(&b->in, p, k);
		p = (const char *)p + k;
		n -= k;
		in = (struct str){ b->in.p, b->in.n };
		while ((r = file_record_next(&in, &b->record)) > 0)
			if (on_record(b, e) < 0)
				return -1;
		if (r < 0 || buf_failed(&b->in))
			return bad_stream(e);
		buf_drop(&b->in, b->in.n - in.n);
	}
	return 0;
}
