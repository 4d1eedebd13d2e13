/*
 * The user can choose another directory for a part of the home, such as `volumes`. Then
 * HOME/volumes becomes a link to this directory, the place of the part. We move no files: the
 * directory that the link replaces must be empty.
 *
 * A part gets a new place in four steps: we check the new directory, write a file into it that
 * marks it as ours, put the link at HOME/NAME by one rename, and write the directory's identity
 * into the marker file of the home. After a crash between two steps, the next command does the
 * missing steps.
 */
#include "state/places.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/dir.h"
#include "base/io.h"
#include "state/record.h"
#include "state/record_config.h"
#include "state/record_list.h"
#include "state/record_lock.h"

#define MARKER HOME_PLACE_MARK
#define MARKER_HEAD "cordon place, format 1\n"
#define MARKER_MAX_BYTES 8192u /* a marker holds a path and a few words */

const char *const places_names[] = { "sandboxes", "volumes", "cache", "secrets", NULL };

/* The directories below the home in which no part may be placed. `projects` belongs to
 * client/project.c. */
static const char *const parts[] = { "sandboxes", "volumes", "cache",   "secrets",
				     "run",       "bin",     "projects" };

/* --- the current places ---------------------------------------------------------------------- */

static bool is_link(const struct home *h, const char *name)
{
	char c;

	return readlinkat(h->fd, name, &c, 1) >= 0;
}

static char *resolve(const struct home *h, const char *name)
{
	AUTO_FREE char *path = xasprintf("%s/%s", h->path, name);

	return realpath(path, NULL);
}

void places_list(const struct home *h, struct strv *ret)
{
	strv_add(ret, h->path);
	for (size_t i = 0; places_names[i]; i++) {
		AUTO_FREE char *real =
			is_link(h, places_names[i]) ? resolve(h, places_names[i]) : NULL;

		if (real && !path_is_within(real, h->path))
			strv_add(ret, real);
	}
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* --- the mark -------------------------------------------------------------------------------- */

static char *mark_text(const struct home *h, const char *name)
{
	return xasprintf(MARKER_HEAD "%s\n%s\n", name, h->path);
}

static int not_ours(const char *path, const char *why, struct err *e)
{
	err_set(e, ERR_DENIED, "'%s' %s", path, why);
	return err_hint(e, "name a directory that is empty or does not exist");
}

/* Finds the first entry of the directory NAME, except the mark and the lock file of volumes. Sets
 * *RET to "" if there is no such entry. */
static int find_content(int dirfd, const char *name, char **ret)
{
	AUTO_DIR d = dir_open(dirfd, name);
	const struct dirent *entry;

	if (!d)
		return -errno;
	do
		entry = dir_next(d);
	while (entry &&
	       (strcmp(entry->d_name, ".lock") == 0 || strcmp(entry->d_name, MARKER) == 0));
	*ret = xstrdup(entry ? entry->d_name : "");
	return 0;
}

enum mark { MARK_NONE, MARK_FREE, MARK_OURS, MARK_OTHER };

static int read_mark(const struct home *h, int dir, const char *name, enum mark *ret, struct err *e)
{
	AUTO_FREE char *ours = mark_text(h, name);
	AUTO_BUF b = BUF_INIT(MARKER_MAX_BYTES);
	int r = io_read_file(dir, MARKER, &b);

	if (r < 0 && r != -ENOENT)
		return err_sys(e, -r, "read '" MARKER "'");
	*ret = r < 0                            ? MARK_NONE
	       : b.n == 0                       ? MARK_FREE
	       : strcmp(buf_str(&b), ours) == 0 ? MARK_OURS
						: MARK_OTHER;
	return 0;
}

/* Checks that the directory PATH may be the place of the part NAME, and marks it as this place. DIR
 * is a descriptor of this directory, which the caller has locked. IN_FORCE is true if the home's
 * link to PATH exists already. */
static int take(const struct home *h, const char *name, const char *path, int dir, bool in_force,
		struct err *e)
{
	AUTO_FREE char *text = mark_text(h, name);
	AUTO_FREE char *content = NULL;
	enum mark mark;
	struct stat st;
	int r = 0;

	if (fstat(dir, &st) < 0)
		return err_sys(e, errno, "look at '%s'", path);
	if (st.st_uid != geteuid())
		return not_ours(path, "belongs to another user", e);
	if (read_mark(h, dir, name, &mark, e) < 0)
		return err_wrap(e, "'%s'", path);
	if (mark == MARK_OTHER)
		return err_set(e, ERR_DENIED,
			       "'%s' is in use for something else, or by another home\n"
			       "name another directory; '%s/" MARKER "' says whose it is",
			       path, path);
	if (mark == MARK_NONE && in_force)
		return err_set(e, ERR_SYSTEM,
			       "'%s' is not the directory that it was\n"
			       "is its disk mounted? If it is: touch '%s/" MARKER "'",
			       path, path);
	if (mark == MARK_NONE && ((r = find_content(dir, ".", &content)) < 0 || *content))
		return r < 0 ? err_sys(e, -r, "list '%s'", path)
			     : not_ours(path, "holds files that are not cordon's", e);
	if ((st.st_mode & 077) && fchmod(dir, 0700) < 0)
		return err_sys(e, errno, "make '%s' private", path);
	if (mark != MARK_OURS)
		r = io_replace_file(dir, MARKER, text, strlen(text), 0600);
	return r < 0 ? err_sys(e, -r, "write '%s/" MARKER "'", path) : 0;
}

int places_open_moved(const struct home *h, const char *name)
{
	AUTO_FD dir =
		!is_link(h, name) ? -1 : openat(h->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err ignored;
	enum mark mark;

	if (dir < 0 || read_mark(h, dir, name, &mark, &ignored) < 0 || mark != MARK_OURS)
		return -1;
	return fd_take(&dir);
}

/* --- moving ---------------------------------------------------------------------------------- */

int path_make(const char *path, struct err *e)
{
	AUTO_FREE char *copy = xstrdup(path);

	for (char *p = copy + 1;; p++) {
		char was = *p;

		if (was != '/' && was != '\0')
			continue;
		*p = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			return err_sys(e, errno, "make '%s'", copy);
		*p = was;
		if (was == '\0')
			return 0;
	}
}

/* Refuses a directory that is inside a part of the home, or that holds the whole home. Otherwise a
 * command that erases the files of one part would erase files of another part. */
static int check_apart(const struct home *h, const char *real, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		AUTO_FREE char *other = resolve(h, parts[i]);

		if (other && path_is_within(real, other))
			return err_set(e, ERR_INVALID, "'%s' is inside '%s'", real, other);
	}
	if (path_is_within(h->path, real))
		return err_set(e, ERR_INVALID, "'%s' holds the state directory", real);
	return 0;
}

/* Refuses the directory REAL if it is in the image directory of a sandbox: a live sandbox would see
 * our state, and a stopped sandbox could not start any more. Also refuses REAL if it is in a mount
 * of a live sandbox, because this sandbox would see our state. */
static int check_unseen(const struct home *h, const char *real, struct err *e)
{
	struct record_list all;
	int r = record_list_all(h, &all, e);

	for (size_t i = 0; r == 0 && i < all.n; i++) {
		AUTO_FREE char *path = xasprintf("sandboxes/%s", all.name[i]);
		AUTO_RECORD box = RECORD_NONE;
		struct err broken;
		bool seen;

		box.dir = openat(h->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (box.dir < 0 || record_read_config(box.dir, &box, &broken) < 0)
			continue;
		seen = box.spec.image.kind == IMAGE_DIR &&
		       path_is_within(real, box.spec.image.reference);
		/* mounts of stopped sandboxes do no harm: when such a sandbox starts, our state is
		 * hidden in its mounts */
		for (size_t k = 0; k < box.spec.n_mounts && record_is_live(box.dir); k++)
			seen |= box.spec.mount[k].kind == MOUNT_BIND &&
				path_is_within(real, box.spec.mount[k].source);
		if (seen)
			r = err_set(e, ERR_BUSY, "'%s' is inside a directory of sandbox '%s'", real,
				    all.name[i]);
	}
	record_list_done(&all);
	return r;
}

/* Checks that HOME/NAME is empty or does not exist, so that no file is left behind. Refuses a link
 * whose target does not exist. */
static int check_left(const struct home *h, const char *name, const char *to, struct err *e)
{
	AUTO_FREE char *content = NULL;
	int r = find_content(h->fd, name, &content);

	if (r == -ENOENT && is_link(h, name))
		return err_set(e, ERR_SYSTEM,
			       "'%s/%s' leads to a directory that is not there\n"
			       "mount its disk; if it is gone for good: rm '%s/%s'",
			       h->path, name, h->path, name);
	if (r < 0 && r != -ENOENT)
		return err_sys(e, -r, "list '%s/%s'", h->path, name);
	if (r < 0 || !*content)
		return 0;
	return err_set(e, ERR_BUSY,
		       "'%s/%s' still holds '%s'\n"
		       "with no sandbox running: mv -T '%s/%s' '%s' && touch '%s/" MARKER "'",
		       h->path, name, content, h->path, name, to, to);
}

/* Removes TEMP: an empty directory, or a link. Before it removes a directory, it removes our mark
 * and lock file in it. If TEMP is a link, the directory to which it leads stays. RELEASE says that
 * this directory is no longer a place of the home; then its mark and lock file are removed, too.
 * Returns 0 or -errno. */
static int remove_old(const struct home *h, const char *temp, bool release)
{
	AUTO_FREE char *lock = xasprintf("%s/.lock", temp);
	AUTO_FREE char *mark = xasprintf("%s/" MARKER, temp);

	if (release || !is_link(h, temp)) {
		IGNORE(unlinkat(h->fd, lock, 0));
		IGNORE(unlinkat(h->fd, mark, 0));
	}
	if (unlinkat(h->fd, temp, 0) == 0 || errno == ENOENT)
		return 0;
	return unlinkat(h->fd, temp, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static int put_link(const struct home *h, const char *name, const char *real)
{
	AUTO_FREE char *temp = xasprintf(".%s.new", name);
	struct stat st;
	int r = remove_old(h, temp, false); /* removes what a killed command left */

	if (r < 0)
		return r;
	if (symlinkat(real, h->fd, temp) < 0)
		return -errno;
	if (fstatat(h->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return renameat(h->fd, temp, h->fd, name) < 0 ? -errno : 0;
	if (sys_renameat2(h->fd, temp, h->fd, name, RENAME_EXCHANGE) < 0)
		return -errno;
	r = remove_old(h, temp, true);
	if (r == 0)
		return 0;
	/* another process has put a file into the old directory meanwhile, so we undo the
	 * exchange */
	IGNORE(sys_renameat2(h->fd, temp, h->fd, name, RENAME_EXCHANGE));
	IGNORE(unlinkat(h->fd, temp, 0));
	return r;
}

/* Writes the identity of DIR into the marker file of the home, which is not the file that marks
 * DIR. Does nothing if the identity is there already. */
static int keep(const struct home *h, const char *name, const char *real, int dir, struct err *e)
{
	struct identity now;
	int r = identity_take(dir, &now);

	if (r < 0)
		return err_sys(e, -r, "look at '%s'", real);
	for (size_t i = 0; i < h->n_places; i++)
		if (strcmp(h->place[i].name, name) == 0 && strcmp(h->place[i].path, real) == 0 &&
		    identity_equal(&h->place[i].identity, &now))
			return 0;
	return home_set_place(h, name, real, &now, e);
}

static int move_to(const struct home *h, const char *name, const char *to, struct err *e)
{
	AUTO_FD dir = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_FREE char *real = NULL;
	struct stat want = { 0 }, have;
	bool in_force, made = false;
	int r;

	if (dir < 0 && errno != ENOENT)
		return err_sys(e, errno, "open '%s'", to);
	in_force = dir >= 0 && fstat(dir, &want) == 0 && fstatat(h->fd, name, &have, 0) == 0 &&
		   same_file(&want, &have);
	if (in_force && !is_link(h, name))
		return 0; /* the part is at its usual place */
	real = realpath(to, NULL);
	if (!in_force && ((real && check_apart(h, real, e) < 0) || check_left(h, name, to, e) < 0))
		return -1;
	if (dir < 0) {
		if (path_make(to, e) < 0)
			return -1;
		made = true;
		dir = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		real = realpath(to, NULL);
	}
	if (dir < 0 || !real || flock(dir, LOCK_EX) < 0)
		return err_sys(e, errno, "open '%s'", to);
	if (!in_force && ((made && check_apart(h, real, e) < 0) || check_unseen(h, real, e) < 0)) {
		/* if we made the directory and it was refused, we remove it */
		IGNORE(made && rmdir(to) < 0);
		return -1;
	}
	if (take(h, name, real, dir, in_force, e) < 0)
		return -1;
	r = in_force ? 0 : put_link(h, name, real);
	if (r < 0)
		return err_sys(e, -r, "link '%s/%s' to '%s'", h->path, name, real);
	return keep(h, name, real, dir, e);
}

int places_apply(const struct home *h, const struct config *c, struct err *e)
{
	const struct {
		const char *name, *to;
	} want[] = {
		{ "sandboxes", c->sandboxes },
		{ "volumes", c->volumes },
		{ "cache", c->cache },
		{ "secrets", c->secrets },
	};
	AUTO_FD lock = -1;

	if (c->snapshots)
		return err_set(e, ERR_UNSUPPORTED,
			       "config.json: paths.snapshots: snapshots are not supported yet");
	if (c->logs) {
		err_set(e, ERR_UNSUPPORTED,
			"config.json: paths.logs: the logs of a sandbox lie with it");
		return err_hint(e, "move them together: paths.sandboxes");
	}
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		if (!want[i].to)
			continue;
		if (lock < 0) {
			lock = openat(h->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (lock < 0 || flock(lock, LOCK_EX) < 0)
				return err_sys(e, errno, "lock '%s'", h->path);
		}
		if (move_to(h, want[i].name, want[i].to, e) < 0)
			return err_wrap(e, "config.json: paths.%s", want[i].name);
	}
	return 0;
}

int places_follow(const struct home *h, struct err *e)
{
	struct config c;
	int r = config_load(h->path, &c, e);

	if (r == 0)
		r = places_apply(h, &c, e);
	config_done(&c);
	return r;
}
