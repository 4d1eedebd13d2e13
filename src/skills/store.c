#include "skills/store.h"

#include <dirent.h>
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
#include "base/erase.h"
#include "base/identity.h"
#include "base/log.h"
#include "base/unicode.h"
#include "base/beneath.h"
#include "skills/bounds.h"
#include "skills/name.h"

/* A server without configuration keeps skills in this directory. The directory is allowed even if
 * it lies in a refused directory, because the administrator may have started the server in /root,
 * for instance. */
#define OWN_PLACE "data/box"
#define TENANTS "tenants"
#define OURS ".cordon-" /* names with this prefix are no packages */
#define OLD ".cordon-old-"
/* How much store_sweep() erases in one call. The worker looks for a request only after the call, so
 * the call must be short: on an ordinary disk it takes less than 0.1 s. */
#define SWEEP_TREES 64u
#define SWEEP_ENTRIES 200u /* the most entries to erase of each tree */

/* --- places ---------------------------------------------------------------------------------- */

/* Returns PATH, made absolute and normalised. */
static char *absolute(const char *cwd, const char *path)
{
	AUTO_FREE char *joined = path[0] == '/' ? xstrdup(path) : xasprintf("%s/%s", cwd, path);

	return path_normalise(str_of(joined));
}

static int open_dir(const char *path, char **ret_path)
{
	AUTO_FD fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret_path = identity_path(fd);
	return *ret_path ? fd_take(&fd) : -ENAMETOOLONG;
}

static int open_root(const struct bounds *b, const char *root, struct places *p, struct err *e)
{
	p->root_named = absolute(p->cwd, root);
	if (strcmp(p->root_named, "/") == 0)
		return err_set(e, ERR_INVALID, "the skills root cannot be '/'");
	if (bounds_make(b, p->root_named, e) < 0)
		return -1;
	p->root = open_dir(p->root_named, &p->root_path);
	if (p->root < 0)
		return err_sys(e, -p->root, "open the skills root '%s'", p->root_named);
	/* check the directory that we have opened: after bounds_make(), somebody may have replaced
	 * the directory by a link */
	return bounds_check(b, p->root_path, e) < 0 ? err_wrap(e, "the skills root") : 0;
}

static int open_source(const struct bounds *b, const char *source, struct places *p, struct err *e)
{
	/* paths in requests are trimmed and compared with SOURCE as text, so trim SOURCE, too */
	struct str s = unicode_trim(str_of(source));
	AUTO_FREE char *trimmed = xstrndup(s.p, s.n);

	p->source_named = absolute(p->cwd, trimmed);
	p->source = open_dir(p->source_named, &p->source_path);
	return p->source < 0 ? 0 : bounds_check(b, p->source_path, e);
}

int places_open(const char *root, const char *source, const char *const *refused,
		struct places *ret, struct err *e)
{
	AUTO_FREE char *own = NULL;
	struct bounds b = { .refused = refused };

	*ret = (struct places){ .root = -1, .source = -1, .cwd = getcwd(NULL, 0) };
	if (!ret->cwd)
		return err_sys(e, errno, "find the working directory");
	b.own = own = xasprintf("%s/" OWN_PLACE, ret->cwd);
	if (open_root(&b, root, ret, e) < 0)
		return -1;
	return source ? open_source(&b, source, ret, e) : 0;
}

void places_done(struct places *p)
{
	fd_closep(&p->root);
	fd_closep(&p->source);
	free(p->root_path);
	free(p->root_named);
	free(p->cwd);
	free(p->source_path);
	free(p->source_named);
}

bool places_gone(const struct places *p)
{
	struct stat st;

	return fstat(p->root, &st) < 0 || st.st_nlink == 0;
}

/* --- stores ---------------------------------------------------------------------------------- */

static bool is_ours(const char *name)
{
	return starts_with(name, OURS);
}

static bool is_ours_or_tenants(const char *name)
{
	return is_ours(name) || strcmp(name, TENANTS) == 0;
}

bool (*store_skip(const struct store *s))(const char *name)
{
	return s->tenant ? is_ours : is_ours_or_tenants;
}

static bool tenant_valid(const char *tenant)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	size_t n = strlen(tenant);

	return n > 0 && n <= STORE_TENANT_MAX_BYTES && strspn(tenant, allowed) == n &&
	       !strchr("._-", tenant[0]);
}

static int open_or_make(int dir, const char *name)
{
	int fd = beneath_open_unlinked(dir, name, O_RDONLY | O_DIRECTORY);

	if (fd != -ENOENT)
		return fd;
	fd = beneath_make_dir(dir, name);
	return fd == -EEXIST ? beneath_open_unlinked(dir, name, O_RDONLY | O_DIRECTORY) : fd;
}

static int open_tenant(const struct places *p, const char *tenant)
{
	AUTO_FD tenants = open_or_make(p->root, TENANTS);

	return tenants < 0 ? tenants : open_or_make(tenants, tenant);
}

int store_open(const struct places *p, const char *tenant, struct store *ret, struct why *y)
{
	*ret = (struct store){ .places = p, .fd = -1, .tenant = tenant };
	if (tenant && !tenant_valid(tenant))
		return why_set(y, "bad tenant namespace");
	ret->fd = tenant ? open_tenant(p, tenant)
			 : beneath_open_unlinked(p->root, "", O_RDONLY | O_DIRECTORY);
	ret->path = tenant ? xasprintf("%s/" TENANTS "/%s", p->root_path, tenant)
			   : xstrdup(p->root_path);
	ret->named = tenant ? xasprintf("%s/" TENANTS "/%s", p->root_named, tenant)
			    : xstrdup(p->root_named);
	if (ret->fd < 0)
		return why_sys(y, -ret->fd, "Skill directory cannot be opened: %s", ret->path);
	return 0;
}

void store_done(struct store *s)
{
	fd_closep(&s->fd);
	free(s->path);
	free(s->named);
	s->path = s->named = NULL;
}

char *store_path(const struct store *s, const char *path)
{
	return xasprintf("%s%s%s", s->path, *path ? "/" : "", path);
}

/* --- paths of peers -------------------------------------------------------------------------- */

/* Decides where REST, a path relative to the store, leads. Names that begin with OURS are no part
 * of a store, nor is `tenants` in the store for peers without tenants. */
static enum where within(const struct store *s, const char *rest)
{
	AUTO_FREE char *top = xstrndup(rest, strcspn(rest, "/"));

	if (*rest == '\0')
		return WHERE_ROOT;
	return store_skip(s)(top) ? WHERE_ELSEWHERE : WHERE_STORE;
}

enum where store_locate(const struct store *s, const char *named, char **ret_path,
			const char **ret_rest)
{
	const struct places *p = s->places;
	AUTO_FREE char *path = absolute(p->cwd, named);

	/* use the real path of the source, because its name may be a link that leads into the
	 * store */
	if (!s->tenant && p->source >= 0 && strcmp(path, p->source_named) == 0) {
		free(path);
		path = xstrdup(p->source_path);
	}
	*ret_path = TAKE(path);
	if (path_is_below(*ret_path, s->path, ret_rest) ||
	    path_is_below(*ret_path, s->named, ret_rest))
		return within(s, *ret_rest);
	return !s->tenant && p->source_path && strcmp(*ret_path, p->source_path) == 0
		       ? WHERE_SOURCE
		       : WHERE_ELSEWHERE;
}

/* --- making and deleting packages ------------------------------------------------------------ */

int store_begin(const struct store *s, char **ret_name, int *ret_fd, struct why *y)
{
	AUTO_FREE char *name = beneath_fresh_name(BENEATH_NEW);
	AUTO_FD fd = beneath_make_dir(s->fd, name);

	if (fd < 0)
		return why_sys(y, -fd, "Skill directory cannot be made in %s", s->path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return why_sys(y, errno, "Skill directory cannot be made in %s", s->path);
	*ret_name = TAKE(name);
	*ret_fd = fd_take(&fd);
	return 0;
}

int store_publish(const struct store *s, const char *from, const char *to)
{
	struct stat st;

	if (sys_renameat2(s->fd, from, s->fd, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* The file system does not know RENAME_NOREPLACE. If TO appears after this check, a plain
	 * rename replaces TO only if TO is an empty directory. */
	if (fstatat(s->fd, to, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return renameat(s->fd, from, s->fd, to) < 0 ? -errno : 0;
}

int store_delete(const struct store *s, const char *name)
{
	AUTO_FREE char *old = beneath_fresh_name(OLD);

	return store_publish(s, name, old);
}

/* --- rubbish --------------------------------------------------------------------------------- */

/* Returns true if a worker, perhaps of another server, is making the package NAME. */
static bool is_held(const struct store *s, const char *name)
{
	AUTO_FD fd = beneath_open_unlinked(s->fd, name, O_RDONLY | O_DIRECTORY);

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

static bool is_rubbish(const struct store *s, const char *name)
{
	return starts_with(name, OLD) || (starts_with(name, BENEATH_NEW) && !is_held(s, name));
}

/* Erases some of the rubbish in D. Returns true if it erased anything. */
static bool sweep_dir(const struct store *s, DIR *d)
{
	struct dirent *entry;
	unsigned gone = 0;
	int error = 0;

	while (gone < SWEEP_TREES && (entry = readdir(d))) {
		int r;

		if (!is_rubbish(s, entry->d_name))
			continue;
		r = erase_part(s->fd, entry->d_name, OLD, SWEEP_ENTRIES);
		if (r > 0)
			return true;
		if (r < 0)
			error = r;
		else
			gone++;
	}
	if (gone)
		return true;
	if (error) /* log the error once, when nothing else is left to erase */
		log_line(LOG_WARN, "deleted or unfinished skills in '%s' cannot be erased: %s",
			 s->path, strerror(-error));
	return false;
}

bool store_sweep(const struct store *s)
{
	int fd = beneath_open_unlinked(s->fd, "", O_RDONLY | O_DIRECTORY);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool more;

	if (!d) {
		fd_closep(&fd);
		return false;
	}
	more = sweep_dir(s, d);
	closedir(d);
	return more;
}
