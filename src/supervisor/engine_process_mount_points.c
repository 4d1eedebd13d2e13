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
/* how long to wait for a shared lock; another sandbox holds the exclusive lock only while it
 * removes mount points */
#define LOCK_WAIT_NS NS_PER_SEC
#define LOCK_RETRY_MS 1

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

	return s->notes < 0 ? 0 : io_write_all(s->notes, line, strlen(line));
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

/* Removes the mount points that the notes list. The caller holds the exclusive lock on ROOT, so no
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

static int lock_shared(int root)
{
	uint64_t deadline = clock_mono_ns() + LOCK_WAIT_NS;

	while (flock(root, LOCK_SH | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK || clock_mono_ns() > deadline)
			return -errno;
		IGNORE(poll(NULL, 0, LOCK_RETRY_MS));
	}
	return 0;
}

static bool name_notes(int root, char name[MOUNT_POINTS_NAME_BYTES])
{
	struct stat st;

	if (fstat(root, &st) < 0)
		return false;
	snprintf(name, MOUNT_POINTS_NAME_BYTES, "run/%llx-%llx.stubs",
		 (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	return true;
}

bool mount_points_noted(const struct home *h, int root)
{
	char name[MOUNT_POINTS_NAME_BYTES];

	return name_notes(root, name) && faccessat(h->fd, name, F_OK, 0) == 0;
}

void mount_points_enter(const struct home *h, int root_fd, enum mount_points_links links,
			struct mount_points *ret)
{
	AUTO_FD root = openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*ret = MOUNT_POINTS_NONE;
	ret->links = links;
	if (root < 0 || !name_notes(root, ret->name))
		return;
	if (flock(root, LOCK_EX | LOCK_NB) == 0) {
		AUTO_FD left = openat(h->fd, ret->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

		remove_all(root, left, links);
		/* if this fails, an old file of notes stays, which does no harm */
		IGNORE(left >= 0 && unlinkat(h->fd, ret->name, 0) < 0);
	}
	if (lock_shared(root) < 0)
		return;
	/* open the notes only under the shared lock: a sandbox with the exclusive lock may
	 * delete them */
	ret->notes = openat(h->fd, ret->name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
			    0600);
	ret->root = fd_take(&root);
}

void mount_points_leave(const struct home *h, struct mount_points *s)
{
	if (s->root >= 0 && flock(s->root, LOCK_EX | LOCK_NB) == 0) {
		remove_all(s->root, s->notes, s->links);
		/* if this fails, an old file of notes stays, which does no harm */
		IGNORE(unlinkat(h->fd, s->name, 0));
	}
	fd_closep(&s->root);
	fd_closep(&s->notes);
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

void mount_points_reap(const struct home *h, int root, enum mount_points_links links)
{
	struct mount_points points;

	mount_points_enter(h, root, links, &points);
	mount_points_leave(h, &points);
}
