#include "client/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/identity.h"
#include "base/sha256.h"
#include "base/str.h"
#include "client/source_rules.h"

/* --- the directory --------------------------------------------------------------------------- */

static int make(const char *path, const struct source_rules *rules, struct err *e)
{
	if (rules->n_roots == 0)
		return err_set(e, ERR_NOT_FOUND, "'%s' is missing, and no root is known", path);
	return source_rules_make(rules, path, e);
}

static bool is_usable(const char *path, int fd, const struct source_rules *rules)
{
	struct err ignored;

	return rules->n_roots > 0 && source_rules_check(rules, path, &ignored) == 0 &&
	       faccessat(fd, ".", R_OK | W_OK | X_OK, AT_EACCESS) == 0;
}

int workspace_find(const char *path, const struct source_rules *rules, bool make_it,
		   char **ret_path, bool *ret_usable, struct err *e)
{
	AUTO_FREE char *canonical = NULL;
	struct stat st;
	AUTO_FD fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT && make_it) {
		if (make(path, rules, e) < 0)
			return -1;
		fd = open(path, O_PATH | O_CLOEXEC);
	}
	if (fd < 0)
		return err_sys(e, errno, "'%s'", path);
	if (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(e, ERR_INVALID, "'%s' is not a directory", path);
	canonical = identity_path(fd);
	if (!canonical)
		return err_set(e, ERR_LIMIT, "'%s' is too long", path);
	*ret_usable = is_usable(canonical, fd, rules);
	*ret_path = TAKE(canonical);
	return 0;
}

/* --- a marker -------------------------------------------------------------------------------- */

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_unchanged(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && same_time(&a->st_mtim, &b->st_mtim) &&
	       same_time(&a->st_ctim, &b->st_ctim);
}

static int digest(int fd, char **ret_digest, uint64_t *ret_size, struct err *e)
{
	char bytes[WORKSPACE_MARKER_MAX_BYTES + 1], hex[SHA256_HEX_BYTES];
	struct stat before, after;
	ssize_t n;

	if (fstat(fd, &before) < 0 || !S_ISREG(before.st_mode))
		return err_set(e, ERR_INVALID, "the marker is not a regular file");
	n = pread(fd, bytes, sizeof(bytes), 0);
	if (n < 0 || fstat(fd, &after) < 0)
		return err_sys(e, errno, "read the marker");
	if (n == 0 || n > (ssize_t)WORKSPACE_MARKER_MAX_BYTES)
		return err_set(e, ERR_INVALID, "the marker must have 1 to %u bytes",
			       WORKSPACE_MARKER_MAX_BYTES);
	if (n != after.st_size || !is_unchanged(&before, &after))
		return err_set(e, ERR_INVALID, "the marker changed while it was read");
	sha256_hex(bytes, (size_t)n, hex);
	*ret_digest = xstrdup(hex);
	*ret_size = (uint64_t)n;
	return 0;
}

int workspace_read_marker(const char *dir, const char *name, bool erase, char **ret_digest,
			  uint64_t *ret_size, struct err *e)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS };
	AUTO_FD place = -1;
	AUTO_FD fd = -1;
	int r;

	if (!starts_with(name, WORKSPACE_MARKER_PREFIX) || strchr(name, '/'))
		return err_set(e, ERR_INVALID, "'%s' is no name of a marker", name);
	place = sys_openat2(AT_FDCWD, dir, &how);
	if (place < 0)
		return err_sys(e, errno, "open the default workspace");
	fd = openat(place, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP ? err_set(e, ERR_INVALID, "the marker is a link")
				      : err_sys(e, errno, "open the marker");
	r = digest(fd, ret_digest, ret_size, e);
	if (erase && unlinkat(place, name, 0) < 0 && r == 0) {
		free(*ret_digest);
		*ret_digest = NULL;
		r = err_sys(e, errno, "remove the marker");
	}
	return r;
}
