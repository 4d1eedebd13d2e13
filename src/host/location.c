#include "host/location.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/identity.h"
#include "base/io.h"
#include "base/str.h"
#include "host/mountinfo.h"

#define PATH_BYTES 4096 /* the kernel's PATH_MAX */

void location_done(struct location *l)
{
	free_p(&l->path);
}

/* Returns "" if PATH is DIR, or "/…", the rest of PATH, if PATH is below DIR. Otherwise returns
 * NULL. */
static const char *rest_below(const char *path, const char *dir)
{
	size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir);

	if (strncmp(path, dir, n) != 0 || (path[n] != '\0' && path[n] != '/'))
		return NULL;
	return strcmp(path + n, "/") == 0 ? "" : path + n;
}

bool location_is_within(const struct location *a, const struct location *dir)
{
	return a->device == dir->device && rest_below(a->path, dir->path);
}

/* --- the table ------------------------------------------------------------------------------- */

void mounts_done(struct mounts *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->line[i].root);
		free(m->line[i].point);
	}
	free(m->line);
	*m = (struct mounts){ 0 };
}

static char *unescaped(struct str s)
{
	char path[PATH_BYTES];

	return mountinfo_unescape(s, path, sizeof(path)) < 0 ? NULL : xstrdup(path);
}

/* Fills RET from INFO. Returns false if the line is malformed, or if a path in it is longer than
 * PATH_BYTES. The caller skips such a line, because we never use paths of that length. */
static bool read_line(const struct mountinfo *info, struct mounts_line *ret)
{
	struct str minor = info->device;
	struct str major = str_cut(&minor, ':');
	uint64_t a, b;

	if (!minor.p || parse_u64_str(info->id, 0, UINT64_MAX, &ret->id) < 0 ||
	    parse_u64_str(major, 0, UINT32_MAX, &a) < 0 ||
	    parse_u64_str(minor, 0, UINT32_MAX, &b) < 0)
		return false;
	ret->device = a << 32 | b;
	ret->root = unescaped(info->root);
	ret->point = unescaped(info->point);
	if (ret->root && ret->point)
		return true;
	free_p(&ret->root);
	free_p(&ret->point);
	return false;
}

int mounts_read(struct mounts *ret, struct err *e)
{
	AUTO_BUF text = BUF_INIT(MOUNTINFO_MAX_BYTES);
	int r = io_read_file(AT_FDCWD, "/proc/self/mountinfo", &text);
	struct str rest = { text.p, text.n };
	struct mountinfo info;
	size_t lines = 1;

	*ret = (struct mounts){ 0 };
	if (r < 0)
		return err_sys(e, -r, "read '/proc/self/mountinfo'");
	for (size_t i = 0; i < text.n; i++)
		lines += text.p[i] == '\n';
	ret->line = xcalloc(lines, sizeof(*ret->line));
	while (mountinfo_next(&rest, &info))
		if (read_line(&info, &ret->line[ret->n]))
			ret->n++;
	return 0;
}

/* --- locating -------------------------------------------------------------------------------- */

int mounts_locate(const struct mounts *m, int fd, struct location *ret, struct err *e)
{
	AUTO_FREE char *path = identity_path(fd);
	struct statx st;

	if (!path || syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &st) < 0)
		return err_sys(e, path ? errno : ENAMETOOLONG, "find the location of a file");
	for (size_t i = 0; i < m->n; i++) {
		const struct mounts_line *l = &m->line[i];
		const char *rest = l->id == st.stx_mnt_id ? rest_below(path, l->point) : NULL;

		if (!rest)
			continue;
		ret->device = l->device;
		ret->path = *rest && strcmp(l->root, "/") != 0 ? xasprintf("%s%s", l->root, rest)
							       : xstrdup(*rest ? rest : l->root);
		return 0;
	}
	/* after a chroot the table may not have the mount in which the root lies. In this case use
	 * the path that this process sees */
	ret->device = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
	ret->path = TAKE(path);
	return 0;
}

/* --- searching ------------------------------------------------------------------------------- */

struct search {
	const struct mounts *m;
	int fd;
	const struct location *what;
	void (*found)(void *arg, const char *below);
	void *arg;
};

/* Calls found() with the path BELOW if s->what, or something below it, is really there. The path
 * was computed from the table of mounts, and another mount may cover it. Returns -1 after a
 * failure, otherwise 0, even if nothing is there. */
static int try(const struct search *s, const char *below, struct err *e)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	AUTO_FD fd = *below ? sys_openat2(s->fd, below + 1, &how) : -1;
	AUTO_LOCATION there = { 0 };

	if (fd < 0)
		return 0;
	if (mounts_locate(s->m, fd, &there, e) < 0)
		return -1;
	if (location_is_within(&there, s->what))
		s->found(s->arg, below);
	return 0;
}

/* ROOT is a directory in the file system of s->what, and is mounted at the path AT below the
 * directory s->fd. If s->what lies in ROOT, it should appear below AT, and try() is called with
 * that path. If ROOT lies in s->what, the whole mount is a part of s->what, and try() is called
 * with AT. In other cases nothing is called. Returns what try() returned, or 0. */
static int try_part(const struct search *s, const char *root, const char *at, struct err *e)
{
	const char *rest = rest_below(s->what->path, root);
	AUTO_FREE char *below = NULL;

	if (!rest && !rest_below(root, s->what->path))
		return 0;
	below = xasprintf("%s%s", at, rest ? rest : "");
	return try(s, below, e);
}

int mounts_find(const struct mounts *m, int fd, const struct location *what,
		void (*found)(void *arg, const char *below), void *arg, struct err *e)
{
	const struct search s = { .m = m, .fd = fd, .what = what, .found = found, .arg = arg };
	AUTO_FREE char *path = identity_path(fd);
	AUTO_LOCATION here = { 0 };

	if (!path)
		return err_sys(e, ENAMETOOLONG, "find the location of a file");
	if (mounts_locate(m, fd, &here, e) < 0 ||
	    (here.device == what->device && try_part(&s, here.path, "", e) < 0))
		return -1;
	for (size_t i = 0; i < m->n; i++) {
		const struct mounts_line *l = &m->line[i];
		const char *at = l->device == what->device ? rest_below(l->point, path) : NULL;

		if (at && *at && try_part(&s, l->root, at, e) < 0)
			return -1;
	}
	return 0;
}
