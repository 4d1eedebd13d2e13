#include "state/removal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/dir.h"
#include "base/erase.h"
#include "state/quota.h"
#include "state/range.h"
#include "state/record.h"
#include "state/record_config.h"
#include "state/record_lock.h"

static void retired_path(const char *name, char *out, size_t n)
{
	char id[HOME_ID_BYTES];

	home_socket_id(name, id);
	snprintf(out, n, RECORD_FOLDER ".gone-%s", id);
}

bool record_is_retired(const struct home *h, const char *name, int dir)
{
	AUTO_FREE char *path = xasprintf(RECORD_FOLDER "%s", name);
	struct stat a, b;

	return fstat(dir, &a) < 0 || fstatat(h->fd, path, &b, AT_SYMLINK_NOFOLLOW) < 0 ||
	       a.st_ino != b.st_ino || a.st_dev != b.st_dev;
}

int record_retire(const struct home *h, const char *name)
{
	AUTO_FREE char *path = xasprintf(RECORD_FOLDER "%s", name);
	char gone[64];
	int r;

	retired_path(name, gone, sizeof(gone));
	r = renameat(h->fd, path, h->fd, gone);
	if (r < 0 && (errno == ENOTEMPTY || errno == EEXIST)) {
		/* an earlier record of this name is still being erased, so we use another name */
		char other[HOME_TEMPORARY_BYTES];

		home_temporary_path(other, RECORD_FOLDER, "gone");
		r = renameat(h->fd, path, h->fd, other); /* a sweep erases OTHER */
	}
	return r < 0 && errno != ENOENT ? -errno : 0;
}

/* Releases the quota of the layer and erases the record PATH. The quota comes first, because it
 * cannot be found once the record is gone. A confined supervisor has no right to release the quota.
 * In this case the function erases only the files of the layer and returns -EPERM; a later sweep
 * erases the record. Otherwise returns 0 or -errno. */
static int erase_record(int dirfd, const char *path)
{
	AUTO_FREE char *mark = xasprintf("%s/" RECORD_QUOTA_MARK, path);
	AUTO_FREE char *layer = xasprintf("%s/layers/0", path);
	AUTO_FREE char *upper = xasprintf("%s/upper", layer);

	if (faccessat(dirfd, mark, F_OK, 0) < 0 || quota_release(dirfd, layer))
		return erase_tree(dirfd, path);
	IGNORE(erase_tree(dirfd, upper)); /* erase at least the files */
	return -EPERM;
}

int record_erase(const struct home *h, const char *name, struct err *e)
{
	AUTO_FREE char *path = xasprintf("%s/sandboxes/%s", h->path, name);
	/* O_PATH: a confined supervisor cannot list the directory */
	AUTO_FD all = openat(h->fd, "sandboxes", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char gone[64];
	int r;

	retired_path(name, gone, sizeof(gone));
	range_release(path);
	r = all < 0 ? -errno : erase_record(all, gone + strlen(RECORD_FOLDER));
	if (r == -EACCES || r == -EPERM)
		return err_set(e, ERR_DENIED, "files of sandbox '%s' belong to its uid range",
			       name);
	return r < 0 ? err_sys(e, -r, "delete sandbox '%s'", name) : 0;
}

/* Releases what a retired record holds outside its directory: sockets, a range of ids and more. All
 * of this is named after the sandbox, so this function releases nothing if there is a new sandbox
 * of the same name. The function holds an exclusive lock on sandboxes/ while it looks for a new
 * sandbox and releases the claims, so that no new sandbox can appear in between. Returns false if
 * another process holds a lock on sandboxes/; the next sweep tries again. */
static bool release_claims(const struct home *h, int sandboxes, int dir, const char *entry,
			   record_release *release)
{
	AUTO_RECORD r = RECORD_NONE;
	struct err e;

	/* a record without a name was partly erased, so its claims were released before */
	if (!release || record_read_config(dir, &r, &e) < 0 || !r.spec.name)
		return true;
	if (flock(sandboxes, LOCK_EX | LOCK_NB) < 0)
		return false;
	if (faccessat(sandboxes, r.spec.name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT) {
		AUTO_FREE char *path = xasprintf("%s/sandboxes/%s", h->path, r.spec.name);

		release(h, entry);
		home_erase_sockets(h, r.spec.name);
		range_release(path);
	}
	IGNORE(flock(sandboxes, LOCK_UN)); /* if this fails, close() releases the lock */
	return true;
}

bool record_sweep(const struct home *h, record_release *release)
{
	AUTO_FD fd = openat(h->fd, "sandboxes", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_DIR d = fd < 0 ? NULL : dir_open(fd, ".");
	const struct dirent *entry;
	bool enough = true;

	while ((entry = dir_next(d))) {
		bool is_new = starts_with(entry->d_name, ".new-");
		AUTO_FD one = -1;

		if (!is_new && !starts_with(entry->d_name, ".gone-"))
			continue;
		if (is_new && flock(fd, LOCK_EX | LOCK_NB) < 0)
			/* a command may be making this record; the next sweep tries again */
			continue;
		one = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (one >= 0 && record_is_live(one) == 0 &&
		    (is_new || release_claims(h, fd, one, entry->d_name, release))) {
			/* if this fails, the next sweep tries again */
			int r = erase_record(fd, entry->d_name);

			enough &= r != -EACCES && r != -EPERM;
		}
		if (is_new)
			IGNORE(flock(fd, LOCK_UN)); /* if this fails, close() releases the lock */
	}
	return enough;
}

bool record_is_leftover(int dir)
{
	AUTO_RECORD r = RECORD_NONE;
	int known = state_read(dir, &r.state);
	struct err e;

	if ((known == 0 || known == -ENOENT) && !r.state.booted_once)
		return true;
	return record_read_config(dir, &r, &e) == 0 && r.spec.ephemeral;
}
