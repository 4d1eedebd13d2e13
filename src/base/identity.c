#include "base/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif
#define PATH_BYTES 4096 /* the kernel's PATH_MAX */
#define KIND_MASK 0170000u
#define KIND_DIR 0040000u
#define KIND_FILE 0100000u

/* A struct file_handle with room for the longest handle. */
struct handle_room {
	uint32_t bytes;
	int32_t type;
	uint8_t handle[IDENTITY_HANDLE_MAX_BYTES];
};

static int look(int fd, struct statx *ret)
{
	return syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, ret) < 0
		       ? -errno
		       : 0;
}

static unsigned kind_of(const struct statx *st)
{
	return st->stx_mode & KIND_MASK;
}

/* Returns true if A and B describe the same object. The caller must have both objects open: if a
 * deleted object is not open, a new object may get its inode number. */
static bool same_now(const struct statx *a, const struct statx *b)
{
	return a->stx_ino == b->stx_ino && a->stx_dev_major == b->stx_dev_major &&
	       a->stx_dev_minor == b->stx_dev_minor;
}

static void take_handle(int fd, struct identity *id)
{
	struct handle_room room = { .bytes = sizeof(room.handle) };
	int mount_id;

	if (syscall(SYS_name_to_handle_at, fd, "", &room, &mount_id, AT_EMPTY_PATH) < 0)
		return;
	id->handle_n = room.bytes;
	id->handle_type = room.type;
	memcpy(id->handle, room.handle, room.bytes);
}

int identity_take(int fd, struct identity *ret)
{
	struct identity id = { .known = true };
	struct statfs fs;
	struct statx st;
	int r = look(fd, &st);

	if (r < 0)
		return r;
	if (fstatfs(fd, &fs) < 0)
		return -errno;
	id.inode = st.stx_ino;
	if ((unsigned long)fs.f_type != OVERLAYFS_SUPER_MAGIC && (st.stx_mask & STATX_BTIME)) {
		id.has_birth = true;
		id.birth_s = st.stx_btime.tv_sec;
		id.birth_ns = st.stx_btime.tv_nsec;
	}
	if ((unsigned long)fs.f_type != FUSE_SUPER_MAGIC)
		take_handle(fd, &id);
	*ret = id;
	return 0;
}

bool identity_equal(const struct identity *a, const struct identity *b)
{
	if (!a->known || !b->known)
		return false;
	if (a->handle_n && b->handle_n)
		return a->handle_n == b->handle_n && a->handle_type == b->handle_type &&
		       memcmp(a->handle, b->handle, a->handle_n) == 0;
	return a->inode == b->inode && (!a->has_birth || !b->has_birth ||
					(a->birth_s == b->birth_s && a->birth_ns == b->birth_ns));
}

/* --- opening --------------------------------------------------------------------------------- */

static int open_unlinked(int dir, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)flags | O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS };

	return sys_openat2(dir, path, &how);
}

char *identity_path(int fd)
{
	char link[64], path[PATH_BYTES];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	if (n <= 0 || n == sizeof(path) || path[0] != '/')
		return NULL;
	return xstrndup(path, (size_t)n);
}

/* Opens the directory that holds the canonical PATH. *RET_NAME is the last component of PATH.
 * Returns a descriptor, or -1 and sets errno. */
static int open_parent(const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *parent = xstrndup(path, slash == path ? 1 : (size_t)(slash - path));

	*ret_name = slash + 1;
	return open_unlinked(AT_FDCWD, parent, O_DIRECTORY);
}

int identity_reopen(int fd, int flags)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return open(link, flags | O_CLOEXEC);
}

static int changed(const char *path, const char *how, struct err *e)
{
	return err_set(e, ERR_DENIED, "'%s' %s", path, how);
}

/* Reports why the kernel found nothing at PATH. */
static int not_there(const char *path, int errnum, struct err *e)
{
	if (errnum == ELOOP)
		return changed(path,
			       "leads over a symbolic link now, and did not when it was named", e);
	if (errnum == ENOENT || errnum == ENOTDIR)
		return err_sys(e, errnum, "'%s' does not exist any more", path);
	return err_sys(e, errnum, "'%s'", path);
}

static int check_held(const char *path, int fd, struct identity *id, const char *if_other,
		      struct err *e)
{
	bool of_parent = id->of_parent;
	struct identity now;
	int r = identity_take(fd, &now);

	if (r < 0)
		return err_sys(e, -r, "look at '%s'", path);
	if (!id->known)
		*id = now;
	else if (!identity_equal(id, &now))
		return changed(path, if_other, e);
	id->of_parent = of_parent;
	return 0;
}

static int open_file(const char *path, struct identity *id, int *ret_fd, struct err *e)
{
	const char *name;
	AUTO_FD parent = open_parent(path, &name);
	AUTO_FD fd = -1;
	struct statx st;

	if (parent < 0)
		return not_there(path, errno, e);
	if (check_held(path, parent, id, "lies in another directory than when it was named", e) < 0)
		return -1;
	fd = open_unlinked(parent, name, 0);
	if (fd < 0 || look(fd, &st) < 0)
		return not_there(path, errno, e);
	if (kind_of(&st) != KIND_FILE)
		return changed(path, "is not a regular file any more", e);
	*ret_fd = fd_take(&fd);
	return 0;
}

int identity_open(const char *path, struct identity *id, int *ret_fd, struct err *e)
{
	AUTO_FD fd = -1;
	struct statx st;

	if (id->known && id->of_parent)
		return open_file(path, id, ret_fd, e);
	fd = open_unlinked(AT_FDCWD, path, 0);
	if (fd < 0 || look(fd, &st) < 0)
		return not_there(path, errno, e);
	if (!id->known && kind_of(&st) == KIND_FILE) {
		id->of_parent = true;
		return open_file(path, id, ret_fd, e);
	}
	if (kind_of(&st) != KIND_DIR)
		return changed(path, "is not a directory any more", e);
	if (check_held(path, fd, id, "is another directory than when it was named", e) < 0)
		return -1;
	*ret_fd = fd_take(&fd);
	return 0;
}

int identity_hold(const char *what, const char *path, char **ret_path, struct identity *ret,
		  int *ret_fd, struct err *e)
{
	AUTO_FD fd = open(path, O_PATH | O_CLOEXEC);
	AUTO_FREE char *real = NULL;
	struct identity id = { 0 };
	struct statx named, held;
	AUTO_FD again = -1;

	if (fd < 0 || look(fd, &named) < 0)
		return err_sys(e, errno, "%s '%s'", what, path);
	if (kind_of(&named) != KIND_DIR && kind_of(&named) != KIND_FILE)
		return err_set(e, ERR_INVALID, "%s '%s' is neither a file nor a directory", what,
			       path);
	real = identity_path(fd);
	if (!real)
		return err_set(e, ERR_LIMIT, "%s '%s' has no path that can be kept", what, path);
	/* the path that later starts use must lead to the object that was just named */
	if (identity_open(real, &id, &again, e) < 0)
		return err_wrap(e, "%s '%s'", what, path);
	if (look(again, &held) < 0 || !same_now(&named, &held))
		return err_set(e, ERR_DENIED, "%s '%s' changed while it was looked at", what, path);
	*ret_path = TAKE(real);
	*ret = id;
	*ret_fd = fd_take(&fd);
	return 0;
}

/* --- in records ------------------------------------------------------------------------------ */

void identity_write_json(const struct identity *id, struct json_writer *w)
{
	char hex[2 * IDENTITY_HANDLE_MAX_BYTES + 1] = "";
	char number[32];

	if (!id->known) {
		json_null(w);
		return;
	}
	json_begin_object(w);
	if (id->has_birth) {
		json_key_int(w, "birth_ns", id->birth_ns);
		json_key_int(w, "birth_s", id->birth_s);
	}
	if (id->handle_n) {
		for (uint32_t i = 0; i < id->handle_n; i++)
			snprintf(hex + 2 * i, 3, "%02x", id->handle[i]);
		json_key_str(w, "handle", hex);
		json_key_int(w, "handle_type", id->handle_type);
	}
	/* the inode number is a text, because some readers of JSON do not keep 64 bits of a
	 * number */
	snprintf(number, sizeof(number), "%llu", (unsigned long long)id->inode);
	json_key_str(w, "inode", number);
	json_key_str(w, "of", id->of_parent ? "parent" : "self");
	json_end_object(w);
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_handle(const char *hex, struct identity *id)
{
	size_t n = strlen(hex);

	if (n == 0 || n % 2 || n / 2 > sizeof(id->handle))
		return false;
	for (size_t i = 0; i < n / 2; i++) {
		int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		id->handle[i] = (uint8_t)(high << 4 | low);
	}
	id->handle_n = (uint32_t)(n / 2);
	return true;
}

int identity_read_json(const struct json_value *v, const char *path, struct identity *ret,
		       struct err *e)
{
	struct {
		const char *handle, *inode, *of;
		int64_t handle_type, birth_s, birth_ns;
	} in = { .birth_ns = -1 };
	static const struct json_field fields[] = {
		FIELD_STR(__typeof__(in), handle, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), inode, JSON_REQUIRED),
		FIELD_STR(__typeof__(in), of, JSON_REQUIRED),
		FIELD_INT(__typeof__(in), handle_type, JSON_OPTIONAL, INT32_MIN, INT32_MAX),
		FIELD_INT(__typeof__(in), birth_s, JSON_OPTIONAL, INT64_MIN, INT64_MAX),
		FIELD_INT(__typeof__(in), birth_ns, JSON_OPTIONAL, 0, 999999999),
	};
	struct identity id = { .known = true };

	*ret = (struct identity){ 0 };
	if (!v || v->type == JSON_NULL)
		return 0;
	if (json_decode(v, path, fields, ARRAY_SIZE(fields), false, &in, e) < 0)
		return -1;
	id.of_parent = strcmp(in.of, "parent") == 0;
	if ((!id.of_parent && strcmp(in.of, "self") != 0) ||
	    parse_u64(in.inode, 0, UINT64_MAX, &id.inode) < 0 ||
	    (in.handle && !read_handle(in.handle, &id)))
		return err_set(e, ERR_INVALID, "%s: not the identity of a file or directory", path);
	id.handle_type = (int32_t)in.handle_type;
	id.has_birth = in.birth_ns >= 0;
	id.birth_s = in.birth_s;
	id.birth_ns = id.has_birth ? (uint32_t)in.birth_ns : 0;
	*ret = id;
	return 0;
}
