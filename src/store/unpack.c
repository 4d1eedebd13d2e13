/*
 * inflate.c decompresses and hashes the blob of a layer, and libarchive's tar reader gets the plain
 * bytes through a callback. So the blob is read once, and the digest also covers what follows the
 * tar's end mark. This code runs in a worker (store/worker.h). If unpacking fails, the process that
 * started the worker removes the directory of the layer.
 *
 * A later entry of the tar replaces an earlier entry of the same name. Whiteouts are different:
 * they delete files of lower layers and never files of this layer. If one layer has both an entry
 * and a whiteout for the same name, the entry replaces the lower file, whichever of the two comes
 * first.
 */
#include "store/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/erase.h"
#include "base/io.h"
#include "base/str.h"
#include "store/inflate.h"
#include "store/owners.h"
#include "store/tree.h"
#include "store/worker.h"

#define CAPABILITY_XATTR "security.capability"
#define WHITEOUT_PREFIX ".wh."
#define WHITEOUT_OPAQUE ".wh..wh..opq"
#define DISK_BLOCK_BYTES 4096u /* the block size of common file systems */

/* limit of unpack.new_paths: enough for some thousand paths; note_new_paths() notes no more */
#define NEW_PATHS_MAX_BYTES (64u << 10)

/* The times of directories are set at the end, because every entry that is made in a directory
 * changes the directory's time. */
struct directory {
	char *path;
	struct timespec mtime;
};

struct unpack {
	int root_fd;
	struct inflate inflate;
	struct err *read_err; /* code ERR_NONE if feed_tar() has not failed */
	struct archive *tar;
	struct image_layer_info info;
	struct rotation rotation;
	struct allowance left; /* what the image may still put on the disk */
	struct directory *directory;
	size_t n_directories, room_directories;
	/* Paths of whiteouts that the file system cannot store, because it is an overlay itself. */
	char **hidden;
	size_t n_hidden, room_hidden;
	bool named; /* the tree has whiteouts as files named .wh.NAME */
	/* The directory of the last entry; the path is NULL before the first entry. The directory
	 * stays open because the next entry is usually in the same directory. An entry that
	 * replaces this directory cannot make parent_fd wrong: such an entry is in another
	 * directory, so open_parent() opens that directory first and closes this one. */
	char *parent_path;
	int parent_fd;
	/* directories for which the tar may have no entry; each path ends with a NUL */
	struct buf new_paths;
};

struct place {
	const char *path; /* the path that messages show */
	int parent_fd;    /* borrowed from struct unpack */
	const char *base;
};

static void close_parent(struct unpack *u)
{
	free(TAKE(u->parent_path));
	fd_closep(&u->parent_fd);
}

static int entry_err(int errnum, const char *what, const char *path, struct err *e)
{
	return err_sys(e, errnum, "%s '%.200s'", what, path);
}

/* --- names ---------------------------------------------------------------------------------- */

/* Removes leading "/" and "./", and slashes at the end of PATH. Refuses a path with "..", a path
 * that ends in "/.", and a path that is too long. *RET points into PATH. The result "" is the root
 * itself. */
static int clean_path(char *path, const char **ret, struct err *e)
{
	size_t n = strlen(path);
	char *at = path;

	if (n > TREE_PATH_MAX_BYTES)
		return err_set(e, ERR_LIMIT, "layer has a path of %zu bytes, more than %u", n,
			       TREE_PATH_MAX_BYTES);
	while (n > 0 && path[n - 1] == '/')
		path[--n] = '\0';
	while (at[0] == '/' || (at[0] == '.' && (at[1] == '/' || at[1] == '\0')))
		at++;
	for (struct str rest = str_of(at); rest.p;)
		if (str_eq(str_cut(&rest, '/'), ".."))
			return err_set(e, ERR_DENIED, "layer has a path that climbs: '%.200s'",
				       path);
	n = strlen(at);
	if (n > 1 && at[n - 1] == '.' && at[n - 2] == '/')
		return err_set(e, ERR_INVALID, "layer has a path that ends in '/.': '%.200s'",
			       path);
	*ret = at;
	return 0;
}

/* Counts the entries of the tar, and the directories that are made although the tar has no entry
 * for them. */
static int count_entries(struct unpack *u, unsigned n, struct err *e)
{
	u->info.entries += n;
	if (u->info.entries > UNPACK_ENTRIES_MAX)
		return err_set(e, ERR_LIMIT, "layer has more than %u entries", UNPACK_ENTRIES_MAX);
	return allowance_take_entries(&u->left, n, e);
}

static int count_name(struct unpack *u, const char *name, struct err *e)
{
	size_t n = name ? strlen(name) : 0;

	u->info.name_bytes += n;
	return allowance_take_names(&u->left, n, e);
}

/* Notes the path of a new directory and the paths of its parents. write_implied_list() checks later
 * for which of them the tar has no entry. */
static void note_new_paths(struct unpack *u)
{
	const char *path = u->parent_path, *end = path;

	while (*end) {
		end += strspn(end, "/");
		end += strcspn(end, "/");
		if (u->new_paths.n + (size_t)(end - path) + 1 > NEW_PATHS_MAX_BYTES)
			return;
		buf_add(&u->new_paths, path, (size_t)(end - path));
		buf_add_char(&u->new_paths, '\0');
	}
}

static int open_parent(struct unpack *u, const char *path, struct place *ret, struct err *e)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *parent = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup("");
	unsigned made = 0;

	if (!u->parent_path || strcmp(u->parent_path, parent) != 0) {
		int fd = tree_make_path(u->root_fd, parent, &u->rotation, &made);

		if (fd < 0)
			return entry_err(-fd, "make the directory of", path, e);
		close_parent(u);
		u->parent_fd = fd;
		u->parent_path = TAKE(parent);
		u->info.disk_bytes += made * DISK_BLOCK_BYTES;
		if (made)
			note_new_paths(u);
		if (count_entries(u, made, e) < 0)
			return -1;
	}
	*ret = (struct place){ path, u->parent_fd, slash ? slash + 1 : path };
	return 0;
}

enum existing { EXISTING_NONE, EXISTING_DIRECTORY, EXISTING_WHITEOUT, EXISTING_OTHER };

static int find_existing(const struct place *p, enum existing *ret, struct err *e)
{
	struct stat st;

	if (fstatat(p->parent_fd, p->base, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			return entry_err(errno, "look at", p->path, e);
		*ret = EXISTING_NONE;
	} else if (S_ISDIR(st.st_mode)) {
		*ret = EXISTING_DIRECTORY;
	} else if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(0, 0)) {
		*ret = EXISTING_WHITEOUT;
	} else {
		*ret = EXISTING_OTHER;
	}
	return 0;
}

/* Makes room for an entry that is not a directory: removes what exists at its place, also a whole
 * directory. */
static int erase_place(const struct place *p, struct err *e)
{
	enum existing was;
	int r;

	if (find_existing(p, &was, e) < 0)
		return -1;
	r = was == EXISTING_NONE ? 0 : erase_tree(p->parent_fd, p->base);
	if (r < 0)
		return entry_err(-r, "replace", p->path, e);
	return 0;
}

/* --- what entries carry --------------------------------------------------------------------- */

struct attributes {
	uid_t uid;
	gid_t gid;
	mode_t mode;
	bool chown;
	struct timespec mtime;
};

static uint32_t keep_id(la_int64_t id, bool *squashed)
{
	if (id >= 0 && id <= OWNERS_ID_MAX)
		return (uint32_t)id;
	*squashed = true;
	return OWNERS_ID_SQUASHED;
}

static struct attributes entry_attributes(struct unpack *u, struct archive_entry *entry)
{
	struct attributes l = {
		.mode = archive_entry_perm(entry) & 07777,
		.chown = u->info.owners != LAYER_OWNERS_SINGLE,
		.mtime = { archive_entry_mtime(entry), archive_entry_mtime_nsec(entry) },
	};
	bool squashed = false;

	l.uid = keep_id(archive_entry_uid(entry), &squashed);
	l.gid = keep_id(archive_entry_gid(entry), &squashed);
	if (!l.chown && (l.uid != 0 || l.gid != 0))
		squashed = true;
	l.uid = rotation_place(u->rotation.uid, l.uid);
	l.gid = rotation_place(u->rotation.gid, l.gid);
	if (squashed) {
		u->info.squashed++;
		l.mode &= ~(mode_t)(S_ISUID | S_ISGID);
	}
	return l;
}

/* Sets the owner. If this user namespace lacks the owner's id, the file still belongs to the user
 * who runs cordon, and loses setuid and setgid. */
static int set_owner(struct unpack *u, int fd, const char *base, int flags, struct attributes *l)
{
	if (!l->chown || fchownat(fd, base, l->uid, l->gid, flags) == 0)
		return 0;
	if (errno != EINVAL)
		return -errno;
	l->mode &= ~(mode_t)(S_ISUID | S_ISGID);
	u->info.squashed++;
	return 0;
}

/* Sets file capabilities. The attribute names an id, and the capabilities count only in user
 * namespaces whose root has this id. By default it is the id of the worker's root. If the owners
 * are rotated, the sandbox's root has another id, and the attribute must name that id. */
static int set_capability(const struct unpack *u, int fd, const void *value, size_t n)
{
	struct vfs_ns_cap_data c = { 0 };

	if (u->rotation.uid == 0 || n != XATTR_CAPS_SZ_2)
		return fsetxattr(fd, CAPABILITY_XATTR, value, n, 0);
	memcpy(&c, value, n);
	c.magic_etc =
		htole32((le32toh(c.magic_etc) & VFS_CAP_FLAGS_EFFECTIVE) | VFS_CAP_REVISION_3);
	c.rootid = htole32(rotation_place(u->rotation.uid, 0));
	return fsetxattr(fd, CAPABILITY_XATTR, &c, sizeof(c), 0);
}

static int set_xattr(const struct unpack *u, int fd, const char *name, const void *value, size_t n)
{
	return strcmp(name, CAPABILITY_XATTR) == 0 ? set_capability(u, fd, value, n)
						   : fsetxattr(fd, name, value, n, 0);
}

/* Sets the extended attributes. Leaves out attributes that the file system does not support, as
 * `cp` does. */
static void set_xattrs(struct unpack *u, int fd, struct archive_entry *entry)
{
	const char *name;
	const void *value;
	size_t n;

	archive_entry_xattr_reset(entry);
	while (archive_entry_xattr_next(entry, &name, &value, &n) == ARCHIVE_OK)
		if (!tree_keeps_xattr(name) || n > UNPACK_XATTR_MAX_BYTES ||
		    set_xattr(u, fd, name, value, n) < 0)
			u->info.skipped++;
}

/* Sets the owner first, because chown clears setuid and file capabilities. */
static int set_attributes(struct unpack *u, int fd, struct archive_entry *entry,
			  struct attributes *l)
{
	const struct timespec times[2] = { l->mtime, l->mtime };
	int r = set_owner(u, fd, "", AT_EMPTY_PATH, l);

	if (r < 0)
		return r;
	set_xattrs(u, fd, entry);
	if (fchmod(fd, l->mode) < 0 || futimens(fd, times) < 0)
		return -errno;
	return 0;
}

/* --- kinds of entries ----------------------------------------------------------------------- */

static int make_name(struct unpack *u, int dir_fd, const char *name, const char *path,
		     struct err *e)
{
	AUTO_FD fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	u->named = true;
	return fd < 0 ? entry_err(errno, "hide what is below", path, e) : 0;
}

static int set_opaque(struct unpack *u, int dir_fd, const char *path, struct err *e)
{
	/* attributes cannot be set through an O_PATH descriptor */
	AUTO_FD fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && fsetxattr(fd, "user.overlay.opaque", "y", 1, 0) == 0)
		return 0;
	if (fd < 0 || (errno != EPERM && errno != EOPNOTSUPP))
		return entry_err(errno, "hide what is below", path, e);
	return make_name(u, fd, WHITEOUT_OPAQUE, path, e); /* fuse-overlayfs reads this name */
}

static void remember_hidden(struct unpack *u, const char *path, const char *base)
{
	if (u->n_hidden == u->room_hidden) {
		u->room_hidden = u->room_hidden ? u->room_hidden * 2 : 64;
		u->hidden = reallocarray(u->hidden, u->room_hidden, sizeof(*u->hidden));
		if (!u->hidden)
			/* the worker reached its memory limit; the parent reports its death */
			abort();
	}
	u->hidden[u->n_hidden++] =
		xasprintf("%.*s%s", (int)(base - strlen(WHITEOUT_PREFIX) - path), path, base);
}

/* Makes overlayfs hide the whiteouts in the directory DIR_FD. Without a mark, overlayfs would list
 * them like files, and then a sandbox could not remove the directory. Overlayfs hides whiteouts in
 * a directory that has the attribute user.overlay.origin, which means that the directory was copied
 * from a lower layer. The value of the attribute does not matter, so it is empty. */
static int hide_whiteouts(int dir_fd, const char *path, struct err *e)
{
	AUTO_FD fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	int r = fd < 0 ? -errno : tree_mark(fd, "user.overlay.origin", "", 0);

	return r < 0 ? entry_err(-r, "mark the directory of", path, e) : 0;
}

static int make_whiteout(struct unpack *u, const struct place *p, struct err *e)
{
	struct place hidden = { p->path, p->parent_fd, p->base + strlen(WHITEOUT_PREFIX) };
	enum existing was;
	AUTO_FD dir = -1;

	if (strcmp(p->base, WHITEOUT_OPAQUE) == 0)
		return set_opaque(u, p->parent_fd, p->path, e);
	if (starts_with(hidden.base, WHITEOUT_PREFIX))
		return 0; /* old union file systems kept their own data under such names */
	if (!*hidden.base || strcmp(hidden.base, ".") == 0 || strcmp(hidden.base, "..") == 0)
		return err_set(e, ERR_INVALID, "layer has a whiteout of nothing: '%.200s'",
			       p->path);
	if (find_existing(&hidden, &was, e) < 0)
		return -1;
	if (was == EXISTING_NONE) {
		if (mknodat(p->parent_fd, hidden.base, S_IFCHR, makedev(0, 0)) == 0)
			return hide_whiteouts(p->parent_fd, p->path, e);
		if (errno != EPERM)
			return entry_err(errno, "make the whiteout", p->path, e);
		remember_hidden(u, p->path, hidden.base);
		return 0;
	}
	if (was != EXISTING_DIRECTORY)
		return 0; /* what exists here, a file or a whiteout, hides the lower file */
	dir = openat(p->parent_fd, hidden.base, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return dir < 0 ? entry_err(errno, "open", p->path, e) : set_opaque(u, dir, p->path, e);
}

static void remember_directory(struct unpack *u, const char *path, struct timespec mtime)
{
	if (u->n_directories == u->room_directories) {
		u->room_directories = u->room_directories ? u->room_directories * 2 : 256;
		u->directory =
			reallocarray(u->directory, u->room_directories, sizeof(*u->directory));
		if (!u->directory)
			/* the worker reached its memory limit; the parent reports its death */
			abort();
	}
	u->directory[u->n_directories++] = (struct directory){ xstrdup(path), mtime };
}

static int set_directory_attributes(struct unpack *u, int fd, const char *path,
				    struct archive_entry *entry, struct err *e)
{
	struct attributes l = entry_attributes(u, entry);
	int r = set_attributes(u, fd, entry, &l);

	if (r == 0 && fremovexattr(fd, IMAGE_IMPLIED_XATTR) < 0 && errno != ENODATA &&
	    errno != ENOTSUP)
		r = -errno;
	if (r < 0)
		return entry_err(-r, "set owner and mode of", path, e);
	remember_directory(u, path, l.mtime);
	return 0;
}

static int make_directory(struct unpack *u, const struct place *p, struct archive_entry *entry,
			  struct err *e)
{
	enum existing was;
	AUTO_FD fd = -1;

	if (find_existing(p, &was, e) < 0)
		return -1;
	if (was != EXISTING_DIRECTORY) {
		if (was != EXISTING_NONE && unlinkat(p->parent_fd, p->base, 0) < 0)
			return entry_err(errno, "replace", p->path, e);
		if (mkdirat(p->parent_fd, p->base, 0700) < 0)
			return entry_err(errno, "make the directory", p->path, e);
		u->info.disk_bytes += DISK_BLOCK_BYTES;
	}
	fd = openat(p->parent_fd, p->base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return entry_err(errno, "open the directory", p->path, e);
	if (was == EXISTING_WHITEOUT && set_opaque(u, fd, p->path, e) < 0)
		return -1;
	return set_directory_attributes(u, fd, p->path, entry, e);
}

static int write_at(int fd, const char *p, size_t n, off_t at)
{
	while (n > 0) {
		ssize_t k = pwrite(fd, p, n, at);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -errno;
		p += k;
		at += k;
		n -= (size_t)k;
	}
	return 0;
}

static int tar_err(struct unpack *u, const char *what, struct err *e)
{
	const char *why = archive_error_string(u->tar);

	if (u->read_err->code != ERR_NONE) { /* the decompressor failed, not the tar reader */
		*e = *u->read_err;
		return -1;
	}
	return err_set(e, ERR_PROTOCOL, "%s: %s", what, why ? why : "damaged tar");
}

static int write_data(struct unpack *u, int fd, const char *path, la_int64_t size, struct err *e)
{
	la_int64_t end = 0;

	for (;;) {
		const void *block;
		la_int64_t at;
		size_t n;
		int r = archive_read_data_block(u->tar, &block, &n, &at);

		if (r == ARCHIVE_EOF)
			break;
		if (r < ARCHIVE_WARN)
			return tar_err(u, "read a layer's tar", e);
		r = write_at(fd, block, n, at);
		if (r < 0)
			return entry_err(-r, "write", path, e);
		u->info.disk_bytes += n;
		end = at + (la_int64_t)n;
	}
	/* the tar reader gives no block for a hole at the end */
	if (end < size && ftruncate(fd, size) < 0)
		return entry_err(errno, "set the length of", path, e);
	u->info.disk_bytes += -u->info.disk_bytes % DISK_BLOCK_BYTES;
	return 0;
}

static int make_file(struct unpack *u, const struct place *p, struct archive_entry *entry,
		     struct err *e)
{
	struct attributes l;
	AUTO_FD fd = openat(p->parent_fd, p->base,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (fd < 0 && errno == EEXIST) {
		if (erase_place(p, e) < 0)
			return -1;
		fd = openat(p->parent_fd, p->base,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	}
	if (fd < 0)
		return entry_err(errno, "make", p->path, e);
	if (write_data(u, fd, p->path, archive_entry_size(entry), e) < 0)
		return -1;
	l = entry_attributes(u, entry);
	r = set_attributes(u, fd, entry, &l);
	return r < 0 ? entry_err(-r, "set owner and mode of", p->path, e) : 0;
}

static int make_symlink(struct unpack *u, const struct place *p, struct archive_entry *entry,
			struct err *e)
{
	struct attributes l = entry_attributes(u, entry);
	const struct timespec times[2] = { l.mtime, l.mtime };
	const char *target = archive_entry_symlink(entry);
	int r;

	if (!target || !*target)
		return err_set(e, ERR_INVALID, "layer has a link to nothing: '%.200s'", p->path);
	if (erase_place(p, e) < 0)
		return -1;
	if (symlinkat(target, p->parent_fd, p->base) < 0)
		return entry_err(errno, "make the link", p->path, e);
	r = set_owner(u, p->parent_fd, p->base, AT_SYMLINK_NOFOLLOW, &l);
	if (r == 0 && utimensat(p->parent_fd, p->base, times, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	return r < 0 ? entry_err(-r, "set the owner of", p->path, e) : 0;
}

static int make_fifo(struct unpack *u, const struct place *p, struct archive_entry *entry,
		     struct err *e)
{
	struct attributes l = entry_attributes(u, entry);
	const struct timespec times[2] = { l.mtime, l.mtime };
	int r;

	if (erase_place(p, e) < 0)
		return -1;
	if (mknodat(p->parent_fd, p->base, S_IFIFO | 0600, 0) < 0)
		return entry_err(errno, "make the FIFO", p->path, e);
	r = set_owner(u, p->parent_fd, p->base, AT_SYMLINK_NOFOLLOW, &l);
	/* only this worker writes to this directory, so this is the FIFO that we made and not a
	 * link */
	if (r == 0 && (fchmodat(p->parent_fd, p->base, l.mode, 0) < 0 ||
		       utimensat(p->parent_fd, p->base, times, AT_SYMLINK_NOFOLLOW) < 0))
		r = -errno;
	return r < 0 ? entry_err(-r, "set owner and mode of", p->path, e) : 0;
}

/* Makes a hard link. RAW_TARGET is a path from the root of this layer. */
static int make_hard_link(struct unpack *u, const struct place *p, const char *raw_target,
			  struct err *e)
{
	AUTO_FREE char *copy = xstrdup(raw_target);
	AUTO_FREE char *parent = NULL;
	AUTO_FD dir = -1;
	const char *target, *slash, *base;
	struct stat from, to;

	if (clean_path(copy, &target, e) < 0)
		return -1;
	slash = strrchr(target, '/');
	base = slash ? slash + 1 : target;
	parent = slash ? xstrndup(target, (size_t)(slash - target)) : xstrdup(".");
	dir = tree_open(u->root_fd, parent, O_PATH | O_DIRECTORY);
	if (dir < 0 || fstatat(dir, base, &from, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(e, ERR_INVALID, "layer links '%.150s' to '%.150s', which it lacks",
			       p->path, target);
	if (fstatat(p->parent_fd, p->base, &to, AT_SYMLINK_NOFOLLOW) == 0 &&
	    from.st_dev == to.st_dev && from.st_ino == to.st_ino)
		return 0; /* a link to itself, or the same link twice */
	if (erase_place(p, e) < 0)
		return -1;
	if (linkat(dir, base, p->parent_fd, p->base, 0) < 0)
		return entry_err(errno, "make the hard link", p->path, e);
	return 0;
}

/* --- the whole layer ------------------------------------------------------------------------ */

static int make_entry(struct unpack *u, struct place *p, struct archive_entry *entry, struct err *e)
{
	const char *link = archive_entry_hardlink(entry);

	if (starts_with(p->base, WHITEOUT_PREFIX))
		return make_whiteout(u, p, e);
	if (link)
		return make_hard_link(u, p, link, e);
	switch (archive_entry_filetype(entry)) {
	case AE_IFREG:
		return make_file(u, p, entry, e);
	case AE_IFDIR:
		return make_directory(u, p, entry, e);
	case AE_IFLNK:
		return make_symlink(u, p, entry, e);
	case AE_IFIFO:
		return make_fifo(u, p, entry, e);
	default:
		u->info.skipped++;
		return 0;
	}
}

static int unpack_entry(struct unpack *u, struct archive_entry *entry, struct err *e)
{
	const char *raw = archive_entry_pathname(entry);
	AUTO_FREE char *copy = NULL;
	const char *path;
	struct place p = { 0 };

	if (!raw)
		return err_set(e, ERR_INVALID, "layer has an entry without a name");
	if (count_entries(u, 1, e) < 0 || count_name(u, raw, e) < 0 ||
	    count_name(u, archive_entry_symlink(entry), e) < 0)
		return -1;
	copy = xstrdup(raw);
	if (clean_path(copy, &path, e) < 0)
		return -1;
	if (!*path) {
		if (archive_entry_filetype(entry) != AE_IFDIR)
			return err_set(e, ERR_INVALID, "layer's root is not a directory");
		return set_directory_attributes(u, u->root_fd, ".", entry, e);
	}
	return open_parent(u, path, &p, e) < 0 ? -1 : make_entry(u, &p, entry, e);
}

static la_ssize_t feed_tar(struct archive *a, void *arg, const void **ret)
{
	struct unpack *u = arg;
	size_t n;

	if (inflate_read(&u->inflate, ret, &n, u->read_err) < 0) {
		archive_set_error(a, EIO, "%s", u->read_err->msg);
		return -1;
	}
	return (la_ssize_t)n;
}

static int read_tar(struct unpack *u, struct err *e)
{
	struct archive_entry *entry;

	u->tar = archive_read_new();
	if (!u->tar || archive_read_support_format_tar(u->tar) != ARCHIVE_OK ||
	    archive_read_support_format_empty(u->tar) != ARCHIVE_OK)
		return err_set(e, ERR_SYSTEM, "no memory for a tar reader");
	if (archive_read_open(u->tar, u, NULL, feed_tar, NULL) != ARCHIVE_OK)
		return tar_err(u, "open a layer's tar", e);
	for (;;) {
		int r = archive_read_next_header(u->tar, &entry);

		if (r == ARCHIVE_EOF)
			return 0;
		if (r < ARCHIVE_WARN)
			return tar_err(u, "read a layer's tar", e);
		if (unpack_entry(u, entry, e) < 0)
			return -1;
	}
}

/* Reads the bytes after the tar's end mark, because the digest covers them too. */
static int read_rest(struct unpack *u, struct err *e)
{
	const void *piece;
	size_t n;

	do
		if (inflate_read(&u->inflate, &piece, &n, e) < 0)
			return -1;
	while (n > 0);
	u->info.tar_bytes = u->inflate.n;
	hash_end(&u->inflate.hash, u->info.diff_id);
	return 0;
}

/* Hides what lower layers have at PATH. If this layer has a directory there, makes it opaque. If
 * this layer has another file there, that file hides the lower one already. If it has nothing
 * there, makes a whiteout. Called after all entries were unpacked, when the whole layer is
 * known. */
static int hide_one(struct unpack *u, const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *parent = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");
	const char *base = slash ? slash + 1 : path;
	AUTO_FREE char *name = xasprintf(WHITEOUT_PREFIX "%s", base);
	AUTO_FD dir = tree_open(u->root_fd, parent, O_PATH | O_DIRECTORY);
	AUTO_FD inner = -1;
	struct stat st;

	if (dir < 0)
		/* an entry of this layer replaced the directory and hides the lower file */
		return 0;
	if (fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? make_name(u, dir, name, path, e)
				       : entry_err(errno, "look at", path, e);
	if (!S_ISDIR(st.st_mode))
		return 0;
	inner = openat(dir, base, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return inner < 0 ? entry_err(errno, "open", path, e) : set_opaque(u, inner, path, e);
}

static int hide(struct unpack *u, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < u->n_hidden; i++)
		r = hide_one(u, u->hidden[i], e);
	return r;
}

/* Sets the times in the tar's order, so that a directory that occurs twice gets its last time. A
 * directory that was replaced meanwhile is skipped. */
static void set_directory_times(struct unpack *u)
{
	for (size_t i = 0; i < u->n_directories; i++) {
		const struct timespec times[2] = { u->directory[i].mtime, u->directory[i].mtime };
		AUTO_FD fd = tree_open(u->root_fd, u->directory[i].path,
				       O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

		if (fd >= 0)
			IGNORE(futimens(fd, times)); /* if this fails, only the time is wrong */
	}
}

static bool is_implied(const struct unpack *u, const char *path)
{
	AUTO_FD fd = tree_open(u->root_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	char none;

	return fd >= 0 && fgetxattr(fd, IMAGE_IMPLIED_XATTR, &none, 0) >= 0;
}

static bool listed(const struct buf *list, const char *path)
{
	for (size_t i = 0; i < list->n; i += strlen(list->p + i) + 1)
		if (strcmp(list->p + i, path) == 0)
			return true;
	return false;
}

static int write_implied_list(struct unpack *u, struct err *e)
{
	AUTO_BUF list = BUF_INIT(IMAGE_IMPLIED_LIST_MAX_BYTES);
	int r;

	for (size_t i = 0, n; i < u->new_paths.n; i += n) {
		n = strlen(u->new_paths.p + i) + 1;
		if (list.n + n <= IMAGE_IMPLIED_LIST_MAX_BYTES &&
		    is_implied(u, u->new_paths.p + i) && !listed(&list, u->new_paths.p + i))
			buf_add(&list, u->new_paths.p + i, n);
	}
	r = list.n ? tree_mark(u->root_fd, IMAGE_IMPLIED_LIST_XATTR, list.p, list.n) : 0;
	return r < 0 ? err_sys(e, -r, "mark the layer's directory") : 0;
}

static int unpack_all(struct unpack *u, int blob_fd, uint64_t blob_bytes, int dir_fd, struct err *e)
{
	int r;

	if (mkdirat(dir_fd, IMAGE_LAYER_TREE, 0755) < 0)
		return err_sys(e, errno, "make the layer's directory");
	u->root_fd =
		openat(dir_fd, IMAGE_LAYER_TREE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (u->root_fd < 0)
		return err_sys(e, errno, "open the layer's directory");
	r = tree_mark_implied(u->root_fd, &u->rotation);
	if (r < 0)
		return err_sys(e, -r, "mark the layer's directory");
	if (inflate_open(&u->inflate, blob_fd, blob_bytes, e) < 0)
		return -1;
	if (u->inflate.max_n > u->left.plain) {
		u->inflate.max_n = u->left.plain;
		u->inflate.why = "and an image may have 256 GiB in all layers together";
	}
	if (read_tar(u, e) < 0 || read_rest(u, e) < 0 || hide(u, e) < 0)
		return -1;
	if (write_implied_list(u, e) < 0)
		return -1;
	set_directory_times(u);
	if (u->named && renameat(dir_fd, IMAGE_LAYER_TREE, dir_fd, IMAGE_LAYER_NAMED) < 0)
		return err_sys(e, errno, "name the layer's directory");
	return 0;
}

int unpack_layer(int blob_fd, uint64_t blob_bytes, int dir_fd, enum layer_owners owners,
		 const struct rotation *rotation, const struct allowance *left,
		 struct image_layer_info *ret, struct err *e)
{
	struct err read_err = { .code = ERR_NONE };
	struct unpack u = { .root_fd = -1,
			    .parent_fd = -1,
			    .read_err = &read_err,
			    .rotation = *rotation,
			    .left = *left,
			    .new_paths = BUF_INIT(NEW_PATHS_MAX_BYTES) };
	int r;

	u.info.owners = owners;
	r = unpack_all(&u, blob_fd, blob_bytes, dir_fd, e);
	if (r == 0)
		*ret = u.info;
	if (u.tar)
		archive_read_free(u.tar);
	inflate_done(&u.inflate);
	close_parent(&u);
	for (size_t i = 0; i < u.n_directories; i++)
		free(u.directory[i].path);
	free(u.directory);
	buf_done(&u.new_paths);
	for (size_t i = 0; i < u.n_hidden; i++)
		free(u.hidden[i]);
	free(u.hidden);
	fd_closep(&u.root_fd);
	return r;
}

int unpack_run(const char *arg, enum layer_owners owners, struct json_writer *reply, struct err *e)
{
	struct image_layer_info info;
	struct allowance left;
	uint64_t blob_bytes, uid, gid;
	const char *comma = arg ? strrchr(arg, ',') : NULL;
	AUTO_FREE char *allowed = comma ? xstrndup(arg, (size_t)(comma + 1 - arg)) : NULL;
	struct str rest = comma ? str_of(comma + 1) : (struct str){ NULL, 0 };
	struct rotation rotation;

	if (!allowed || allowance_read(allowed, &left) < 0 ||
	    parse_u64_str(str_cut(&rest, ':'), 0, UINT64_MAX, &blob_bytes) < 0 || !rest.p ||
	    parse_u64_str(str_cut(&rest, ':'), 0, OWNERS_ID_SQUASHED, &uid) < 0 || !rest.p ||
	    parse_u64_str(rest, 0, OWNERS_ID_SQUASHED, &gid) < 0)
		return err_set(e, ERR_USAGE,
			       "unpack needs what is allowed, the blob's length and the owner");
	rotation = (struct rotation){ (uint32_t)uid, (uint32_t)gid };
	umask(0);
	if (unpack_layer(STDIN_FILENO, blob_bytes, WORKER_DIR_FD, owners, &rotation, &left, &info,
			 e) < 0)
		return -1;
	image_layer_info_write_json(&info, reply);
	return 0;
}
