#include "skills/bounds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/identity.h"
#include "base/str.h"

#define DIRECTORY_MODE 0755

int bounds_check(const struct bounds *b, const char *path, struct err *e)
{
	if (b->own && path_is_within(path, b->own))
		return 0;
	for (size_t i = 0; b->refused && b->refused[i]; i++) {
		AUTO_FREE char *real = realpath(b->refused[i], NULL);

		if (path_is_within(path, b->refused[i]) ||
		    (real && (path_is_within(path, real) || path_is_within(real, path))))
			return err_set(e, ERR_DENIED, "'%s' is blocked for security", path);
	}
	return 0;
}

/* Replaces *DIR by its subdirectory PART. Follows links only if FOLLOW is true. Returns 0 or
 * -errno. */
static int enter(int *dir, struct str part, bool follow)
{
	AUTO_FREE char *name = xstrndup(part.p, part.n);
	int next = openat(*dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));

	if (next < 0)
		return -errno;
	fd_closep(dir);
	*dir = next;
	return 0;
}

/* Goes down the path *REST as far as it exists, and replaces *DIR by the last directory that
 * exists. *REST becomes the part that is missing; if nothing is missing, REST->p becomes NULL.
 * Returns 0 or -errno. */
static int descend(int *dir, struct str *rest)
{
	while (rest->p) {
		struct str after = *rest, part = str_cut(&after, '/');
		int r = part.n ? enter(dir, part, true) : 0;

		if (r < 0)
			return r == -ENOENT ? 0 : r;
		*rest = after;
	}
	return 0;
}

/* Makes the directories of REST below *DIR, and replaces *DIR by the last of them. Follows no link,
 * because another process may put a link in the place of a new directory. Returns 0 or -errno. */
static int make(int *dir, struct str rest)
{
	while (rest.p) {
		struct str part = str_cut(&rest, '/');
		AUTO_FREE char *name = xstrndup(part.p, part.n);
		int r;

		if (part.n == 0)
			continue;
		if (mkdirat(*dir, name, DIRECTORY_MODE) < 0 && errno != EEXIST)
			return -errno;
		r = enter(dir, part, false);
		if (r < 0)
			return r;
	}
	return 0;
}

int bounds_make(const struct bounds *b, const char *path, struct err *e)
{
	AUTO_FD dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_FREE char *above = NULL;
	AUTO_FREE char *whole = NULL;
	struct str rest = str_of(path);
	int r = dir < 0 ? -errno : descend(&dir, &rest);

	if (r == 0 && !rest.p)
		return 0;
	if (r == 0 && !(above = identity_path(dir)))
		r = -ENAMETOOLONG;
	if (r < 0)
		return err_sys(e, -r, "open the skills root '%s'", path);
	whole = xasprintf("%s/%.*s", strcmp(above, "/") == 0 ? "" : above, (int)rest.n, rest.p);
	if (bounds_check(b, whole, e) < 0)
		return err_wrap(e, "the skills root");
	r = make(&dir, rest);
	return r < 0 ? err_sys(e, -r, "make the skills root '%s'", path) : 0;
}
