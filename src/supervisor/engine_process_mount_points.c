#include "supervisor/engine_process_mount_points.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compat.h"
#include "base/io.h"
#include "base/str.h"
#include "process/host_cas.h"

/* limit for a file of notes; a note is a line "INODE PATH", and the oldest mount point comes
 * first */
#define NOTES_MAX_BYTES (1u << 20)
/* how long to wait for the shared lock: another sandbox holds the exclusive lock only while it
 * removes mount points, at most 512, perhaps over a network */
#define LOCK_WAIT_NS (5 * NS_PER_SEC)
/* how long to wait for the lock on the directory itself, which a command may hold for ever;
 * supervisors of older builds wait no longer, either */
#define OLD_LOCK_WAIT_NS NS_PER_SEC
#define LOCK_RETRY_MS 1
/* how the names of files of notes end */
#define NOTES ".points"
#define OLD_NOTES ".stubs"

static int open_in_root(int root, const char *path, enum mount_points_links links)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT |
					   (links == LINKS_REFUSED ? RESOLVE_NO_SYMLINKS
								   : RESOLVE_NO_MAGICLINKS) };

	return sys_openat2(root, path, &how);
}

/* Writes a note about one mount point. Called as soon as the mount point is made. So if we are
 * killed, at most one mount point lacks a note. */
static int note(const struct mount_points *s, uint64_t inode, const char *path)
{
	AUTO_FREE char *line = xasprintf("%llu %s\n", (unsigned long long)inode, path);

	return io_write_all(s->notes, line, strlen(line));
}

/* Makes the directory or empty file NAME in PARENT. */
static int make_one(int parent, const char *name, bool is_dir)
{
	AUTO_FD fd = -1;

	if (is_dir)
		return mkdirat(parent, name, 0755) < 0 ? -errno : 0;
	fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	return fd < 0 ? -errno : 0;
}

bool mount_points_has(int root, const char *path, enum mount_points_links links)
{
	AUTO_FD fd = open_in_root(root, path, links);

	return fd >= 0;
}

static int explain(const struct mount_points *s, int errnum, const char *path, const char *where,
		   struct err *e)
{
	err_sys(e, errnum, "mount point '%s' in '%s'", path + 1, where);
	if (errnum == ELOOP && s->links == LINKS_REFUSED)
		return err_hint(e, "the target passes through a link in the volume: remove the "
				   "link, or choose another target");
	return -1;
}

int mount_points_make_one(const struct mount_points *s, int root, const char *path, bool is_dir,
			  const char *where, struct err *e)
{
	AUTO_FD parent = open_in_root(root, "/", s->links);

	for (const char *at = path; at && *at;) {
		const char *next = strchr(at + 1, '/');
		size_t n = next ? (size_t)(next - path) : strlen(path);
		AUTO_FREE char *prefix = xstrndup(path, n);
		bool dir = next || is_dir;
		int fd = open_in_root(root, prefix, s->links);

		if (fd < 0 && errno == ENOENT) {
			const char *name = strrchr(prefix, '/') + 1;
			struct stat st;
			int r = make_one(parent, name, dir);

			/* EEXIST: another sandbox has made NAME meanwhile */
			if (r < 0 && r != -EEXIST)
				return err_sys(e, -r, "make mount point '%s' in '%s'", prefix + 1,
					       where);
			/* open NAME in PARENT, because we made it there: another process may have
			 * changed where PREFIX leads */
			fd = r == 0 ? openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC)
				    : open_in_root(root, prefix, s->links);
			if (r == 0 && fd >= 0 && fstat(fd, &st) == 0)
				r = note(s, st.st_ino, prefix);
			if (fd >= 0 && r < 0 && r != -EEXIST) {
				fd_closep(&fd);
				return err_sys(e, -r, "note the mount point '%s'", prefix);
			}
		}
		if (fd < 0)
			return explain(s, errno, prefix, where, e);
		fd_closep(&parent);
		parent = fd;
		at = next;
	}
	return 0;
}

static bool has_bundle(int root)
{
	size_t i = 0;

	while (host_cas_places[i] && !mount_points_has(root, host_cas_places[i], LINKS_FOLLOWED))
		i++;
	return host_cas_places[i];
}

int mount_points_make(const struct mount_points *s, int root, const struct spec *spec,
		      struct err *e)
{
	static const struct {
		const char *path;
		bool is_dir;
	} ours[] = { { "/proc", true },
		     { "/dev", true },
		     { "/sys", true },
		     { "/.msb", true },
		     { "/etc/hostname", false },
		     { "/etc/hosts", false },
		     { "/etc/resolv.conf", false } };
	const char *where = spec->image.reference;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(ours); i++)
		r = mount_points_make_one(s, root, ours[i].path, ours[i].is_dir, where, e);
	if (r == 0 && spec->trust_host_cas && !has_bundle(root)) {
		AUTO_FREE char *path = xasprintf("/%s", host_cas_places[0]);

		r = mount_points_make_one(s, root, path, false, where, e);
	}
	for (size_t i = 0; r == 0 && i < spec->writable.n; i++)
		r = mount_points_make_one(s, root, spec->writable.v[i], true, where, e);
	for (size_t i = 0; r == 0 && i < spec->n_mounts; i++) {
		const struct spec_mount *m = &spec->mount[i];

		/* mounts below other mounts are the work of engine_process_nested.c */
		if (spec_mount_above(spec, i) == SIZE_MAX)
			r = mount_points_make_one(s, root, m->guest,
						  m->kind != MOUNT_BIND || !m->identity.of_parent,
						  where, e);
	}
	return r; /* after a failure, mount_points_leave() removes what is noted */
}

static void remove_one(int root, struct str line, enum mount_points_links links)
{
	AUTO_FREE char *path = NULL;
	struct str rest = line;
	struct str number = str_cut(&rest, ' ');
	AUTO_FD parent = -1;
	char *slash;
	struct stat st;
	uint64_t ino;

	if (!rest.p || parse_u64_str(number, 0, UINT64_MAX, &ino) < 0)
		return;
	path = xstrndup(rest.p, rest.n);
	slash = strrchr(path, '/');
	if (!slash)
		return;
	*slash = '\0';
	parent = open_in_root(root, *path ? path : "/", links);
	if (parent < 0 || fstatat(parent, slash + 1, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    st.st_ino != ino)
		return;
	/* this fails if the directory is not empty, that is, in use */
	if (S_ISDIR(st.st_mode))
		IGNORE(unlinkat(parent, slash + 1, AT_REMOVEDIR));
	else if (S_ISREG(st.st_mode) && st.st_size == 0)
		IGNORE(unlinkat(parent, slash + 1, 0));
}

/* Removes the mount points that the notes list. The caller holds the lock that clean() takes, so no
 * other sandbox uses ROOT. */
static void remove_all(int root, int notes, enum mount_points_links links)
{
	AUTO_BUF text = BUF_INIT(NOTES_MAX_BYTES);
	size_t end;

	if (notes < 0 || lseek(notes, 0, SEEK_SET) < 0 || io_read_to_end(notes, &text) < 0)
		return;
	/* remove the youngest mount point first: it may lie in an older one */
	end = text.n;
	while (end > 0) {
		size_t start = end - 1;

		while (start > 0 && text.p[start - 1] != '\n')
			start--;
		remove_one(root, (struct str){ text.p + start, end - 1 - start }, links);
		end = start;
	}
}

/* --- the lock -------------------------------------------------------------------------------- */

static int lock_shared(int fd, uint64_t patience_ns)
{
	uint64_t deadline = clock_mono_ns() + patience_ns;

	while (flock(fd, LOCK_SH | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK || clock_mono_ns() > deadline)
			return -errno;
		IGNORE(poll(NULL, 0, LOCK_RETRY_MS));
	}
	return 0;
}

static bool name_notes(int root, const char *ending, char name[MOUNT_POINTS_NAME_BYTES])
{
	struct stat st;

	if (fstat(root, &st) < 0)
		return false;
	snprintf(name, MOUNT_POINTS_NAME_BYTES, "run/%llx-%llx%s", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino, ending);
	return true;
}

static bool exists(const struct home *h, int root, const char *ending)
{
	char name[MOUNT_POINTS_NAME_BYTES];

	return name_notes(root, ending, name) && faccessat(h->fd, name, F_OK, 0) == 0;
}

bool mount_points_noted(const struct home *h, int root)
{
	return exists(h, root, NOTES) || exists(h, root, OLD_NOTES);
}

/* Returns true if the open file NOTES still has the name NAME. Otherwise the last of its users has
 * deleted it, and a lock on it means nothing. */
static bool has_name(const struct home *h, int notes, const char *name)
{
	struct stat mine, named;

	return fstat(notes, &mine) == 0 && fstatat(h->fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

/* If no other sandbox uses the directory of S, removes the mount points that the file NOTES lists,
 * and this file. NAME is its name. All sandboxes that use the directory lock LOCK. */
static void clean(const struct home *h, const struct mount_points *s, int lock, int notes,
		  const char *name)
{
	if (notes < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0 || !has_name(h, notes, name))
		return;
	remove_all(s->root, notes, s->links);
	/* if this fails, an old file of notes stays, which does no harm */
	IGNORE(unlinkat(h->fd, name, 0) < 0);
}

/* Opens and locks the file of notes. WHERE is the name of the directory in messages. */
static int join(const struct home *h, struct mount_points *s, const char *where, struct err *e)
{
	uint64_t deadline = clock_mono_ns() + LOCK_WAIT_NS;

	while (clock_mono_ns() < deadline) {
		AUTO_FD notes = openat(h->fd, s->name,
				       O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
		int r = notes < 0 ? -errno : lock_shared(notes, LOCK_WAIT_NS);

		if (r == -EWOULDBLOCK)
			break;
		if (r < 0)
			return err_sys(e, -r, "%s the notes on mount points in '%s', '%s/%s'",
				       notes < 0 ? "open" : "lock", where, h->path, s->name);
		if (has_name(h, notes, s->name)) {
			s->notes = fd_take(&notes);
			return 0;
		}
	}
	return err_set(e, ERR_BUSY,
		       "another sandbox takes too long to remove its mount points in '%s'", where);
}

/* --- supervisors of older builds ------------------------------------------------------------- */

/* Such a supervisor locks the directory itself, which commands inside can lock, too. It has its
 * notes in a file of its own. While this file exists, we also lock the directory. Otherwise the
 * last of these supervisors would remove mount points that it has made and that we use. */
static void open_old(const struct home *h, struct mount_points *s)
{
	char name[MOUNT_POINTS_NAME_BYTES];

	if (name_notes(s->root, OLD_NOTES, name))
		s->old_notes = openat(h->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (s->old_notes >= 0)
		s->old_lock = openat(s->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void leave_old(const struct home *h, struct mount_points *s)
{
	char name[MOUNT_POINTS_NAME_BYTES];

	if (s->old_lock >= 0 && name_notes(s->root, OLD_NOTES, name))
		clean(h, s, s->old_lock, s->old_notes, name);
	fd_closep(&s->old_lock);
	fd_closep(&s->old_notes);
}

/* --- the use of a directory ------------------------------------------------------------------ */

static bool begin(int root, enum mount_points_links links, struct mount_points *ret)
{
	*ret = MOUNT_POINTS_NONE;
	ret->links = links;
	ret->root = fcntl(root, F_DUPFD_CLOEXEC, 3);
	return ret->root >= 0 && name_notes(root, NOTES, ret->name);
}

int mount_points_enter(const struct home *h, int root, enum mount_points_links links,
		       const char *where, struct mount_points *ret, struct err *e)
{
	mount_points_reap(h, root, links);
	if (!begin(root, links, ret))
		return err_sys(e, errno, "look at '%s'", where);
	open_old(h, ret);
	/* if this fails, a command holds the exclusive lock, so no older supervisor holds a lock;
	 * go on without this lock */
	IGNORE(ret->old_lock >= 0 && lock_shared(ret->old_lock, OLD_LOCK_WAIT_NS) < 0);
	return join(h, ret, where, e);
}

void mount_points_leave(const struct home *h, struct mount_points *s)
{
	clean(h, s, s->notes, s->notes, s->name);
	leave_old(h, s);
	fd_closep(&s->root);
	fd_closep(&s->notes);
}

void mount_points_reap(const struct home *h, int root, enum mount_points_links links)
{
	struct mount_points s;

	if (begin(root, links, &s)) {
		s.notes = openat(h->fd, s.name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		open_old(h, &s);
	}
	mount_points_leave(h, &s);
}

int mount_points_confine(const struct mount_points *s, struct confine_files *f, struct err *e)
{
	if (s->root < 0)
		return 0;
	return confine_files_allow(f, s->root,
				   LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
					   LANDLOCK_ACCESS_FS_REMOVE_DIR,
				   e);
}
