#include "client/source_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/identity.h"
#include "base/str.h"
#include "spec/grammar.h"
#include "state/places.h"

#define DIRECTORY_MODE 0755

const char *const source_rules_system[SOURCE_RULES_SYSTEM] = {
	"/etc", "/proc", "/sys", "/dev", "/root", "/boot", "/run", "/var/run",
};

/* Returns true if PATH is DIR or lies in DIR. If DIR is a link, also returns true if PATH lies
 * in the target of the link. */
static bool covers(const char *dir, const char *path)
{
	AUTO_FREE char *real = realpath(dir, NULL);

	return path_is_within(path, dir) || (real && path_is_within(path, real));
}

/* Returns true if PATH contains DIR, so that sharing PATH would share DIR too. */
static bool contains(const char *path, const char *dir)
{
	AUTO_FREE char *real = realpath(dir, NULL);

	return real && path_is_within(real, path);
}

int source_rules_check(const struct source_rules *r, const char *path, struct err *e)
{
	bool inside = r->n_roots == 0;

	if (strcmp(path, "/") == 0)
		return err_set(e, ERR_DENIED, "'/' cannot be shared with a sandbox");
	for (size_t i = 0; i < r->n_refused; i++)
		if (covers(r->refused[i], path))
			return err_set(e, ERR_DENIED, "'%s' cannot be shared with a sandbox", path);
	for (size_t i = 0; i < r->n_roots; i++)
		inside = inside || covers(r->root[i], path);
	if (!inside)
		return err_set(e, ERR_DENIED,
			       "'%s' is in none of the directories that sandboxes may share", path);
	for (size_t i = 0; i < r->n_refused; i++)
		if (contains(path, r->refused[i]))
			return err_set(e, ERR_DENIED,
				       "'%s' contains '%s', which cannot be shared with a sandbox",
				       path, r->refused[i]);
	return 0;
}

/* Opens PATH or, if PATH is missing, the nearest directory above PATH that exists. For example,
 * opens /a if /a/b/c is asked for and /a/b is missing. Returns the descriptor or -1. *RET_REST is
 * the missing part of PATH (here "/b/c"). */
static int open_existing(const char *path, const char **ret_rest, struct err *e)
{
	AUTO_FREE char *above = xstrdup(path);
	size_t n = strlen(above);

	for (;;) {
		int fd = open(n ? above : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0) {
			*ret_rest = path + n;
			return fd;
		}
		if (errno != ENOENT || n == 0)
			return err_sys(e, errno, "'%s'", path);
		while (above[n - 1] != '/')
			n--;
		above[--n] = '\0';
	}
}

static int make_below(int *dir, const char *rest, const char *path, struct err *e)
{
	struct str left = str_of(rest);

	while (left.p) {
		struct str part = str_cut(&left, '/');
		AUTO_FREE char *name = xstrndup(part.p, part.n);
		int next;

		if (part.n == 0)
			continue;
		if (mkdirat(*dir, name, DIRECTORY_MODE) < 0 && errno != EEXIST)
			return err_sys(e, errno, "make '%s'", path);
		next = openat(*dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return err_sys(e, errno, "make '%s'", path);
		fd_closep(dir);
		*dir = next;
	}
	return 0;
}

/* Applies the rules to a path whose last directories may be missing. The rules judge the canonical
 * path that PATH would have if all of it existed. Sets *RET_DIR and *RET_REST to what
 * open_existing() found. */
static int judge_missing(const struct source_rules *r, const char *path, const char **ret_rest,
			 int *ret_dir, struct err *e)
{
	AUTO_FREE char *above = NULL;
	AUTO_FREE char *whole = NULL;
	AUTO_FD dir = open_existing(path, ret_rest, e);

	if (dir < 0)
		return -1;
	above = identity_path(dir);
	if (!above)
		return err_set(e, ERR_LIMIT, "'%s' is too long", path);
	whole = xasprintf("%s%s", strcmp(above, "/") != 0 || !**ret_rest ? above : "", *ret_rest);
	if (source_rules_check(r, whole, e) < 0)
		return -1;
	if (r->literal && strcmp(whole, path) != 0)
		return err_set(e, ERR_DENIED, "'%s' leads over a link", path);
	*ret_dir = fd_take(&dir);
	return 0;
}

int source_rules_judge(const struct source_rules *r, const char *path, struct err *e)
{
	AUTO_FREE char *real = realpath(path, NULL);
	AUTO_FREE char *normal = path_normalise(path);
	const char *rest;
	AUTO_FD dir = -1;

	if (real)
		return source_rules_check(r, real, e);
	return normal ? judge_missing(r, normal, &rest, &dir, e)
		      : err_set(e, ERR_INVALID, "'%s' is not an absolute path", path);
}

int source_rules_make(const struct source_rules *r, const char *path, struct err *e)
{
	AUTO_FREE char *normal = path_normalise(path);
	const char *rest = "";
	AUTO_FD dir = -1;

	if (!normal)
		return err_set(e, ERR_INVALID, "'%s' is not an absolute path", path);
	if (access(normal, F_OK) == 0)
		return 0;
	if (judge_missing(r, normal, &rest, &dir, e) < 0)
		return -1;
	return make_below(&dir, rest, path, e);
}
