/*
 * /proc/self/cgroup has our path in each hierarchy, relative to the root of the cgroup namespace.
 * For each mount, mountinfo tells which subtree of the hierarchy (the "root") is mounted at which
 * mount point. The directory of our group is the mount point, followed by the part of our path
 * below the root. If our path does not lie below the root, we cannot reach our group through this
 * mount. Examples are a path "/../x", or a mount of another container's subtree.
 */
#include "host/hierarchy.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "host/mountinfo.h"

#define UNIFIED_MOUNT "/sys/fs/cgroup"
#define CGROUP2_MAGIC 0x63677270

static const char *const controller_names[] = {
	[CONTROLLER_MEMORY] = "memory",
	[CONTROLLER_CPU] = "cpu",
	[CONTROLLER_PIDS] = "pids",
};
static_assert(ARRAY_SIZE(controller_names) == CONTROLLER_COUNT, "a controller has no name");

const char *controller_name(enum controller c)
{
	return controller_names[c];
}

/* Sets *RET to our path in the hierarchy that has CONTROLLER, or in the unified hierarchy if
 * CONTROLLER is NULL. Returns false if SELF has no such line. */
static bool own_path(struct str self, const char *controller, struct str *ret)
{
	while (self.p) {
		struct str path = str_cut(&self, '\n');
		struct str id = str_cut(&path, ':'), list;

		if (!path.p)
			continue;
		list = str_cut(&path, ':');
		if (!path.p || path.n == 0 || path.p[0] != '/')
			continue;
		if (controller ? mountinfo_has_option(list, controller)
			       : str_eq(id, "0") && list.n == 0) {
			*ret = path;
			return true;
		}
	}
	return false;
}

/* Returns true if a component of the path is `..`, so that the path might lead out of the
 * directory to which it is appended. */
static bool has_dotdot(const char *path)
{
	for (struct str rest = str_of(path); rest.p;)
		if (str_eq(str_cut(&rest, '/'), ".."))
			return true;
	return false;
}

static int place_make(const struct mountinfo *m, struct str path, unsigned version,
		      struct hierarchy_place *ret)
{
	char root[HIERARCHY_DIR_BYTES], point[HIERARCHY_DIR_BYTES], own[HIERARCHY_DIR_BYTES];
	const char *beyond = own;
	size_t n;
	int len;

	if (path.n >= sizeof(own) || mountinfo_unescape(m->root, root, sizeof(root)) < 0 ||
	    mountinfo_unescape(m->point, point, sizeof(point)) < 0 || point[0] != '/')
		return -EINVAL;
	memcpy(own, path.p, path.n);
	own[path.n] = '\0';
	n = strlen(root);
	if (strcmp(root, "/") != 0) {
		if (strncmp(own, root, n) != 0 || (own[n] != '/' && own[n] != '\0'))
			return -ENOENT;
		beyond = own + n;
	}
	if (has_dotdot(beyond))
		return -ENOENT;
	len = snprintf(ret->dir, sizeof(ret->dir), "%s%s", point,
		       strcmp(beyond, "/") == 0 ? "" : beyond);
	if (len < 0 || (size_t)len >= sizeof(ret->dir))
		return -ENAMETOOLONG;
	ret->version = version;
	return 0;
}

/* Sets *RET to our group's directory below the first mount that shows it. If there is no such
 * mount, ret->version is 0. */
static void place_find(struct str self, struct str mounts, const char *controller,
		       struct hierarchy_place *ret)
{
	struct mountinfo m;
	struct str path;

	*ret = (struct hierarchy_place){ 0 };
	if (!own_path(self, controller, &path))
		return;
	if (!controller)
		path = hierarchy_base(path);
	while (mountinfo_next(&mounts, &m)) {
		struct hierarchy_place p;

		if (controller ? !str_eq(m.fstype, "cgroup") ||
					 !mountinfo_has_option(m.super, controller)
			       : !str_eq(m.fstype, "cgroup2"))
			continue;
		if (place_make(&m, path, controller ? 1 : 2, &p) == 0) {
			*ret = p;
			return;
		}
	}
}

void hierarchy_locate(struct str self, struct str mountinfo, struct hierarchy_layout *ret)
{
	for (unsigned c = 0; c < CONTROLLER_COUNT; c++)
		place_find(self, mountinfo, controller_names[c], &ret->controller[c]);
	place_find(self, mountinfo, NULL, &ret->unified);
}

struct str hierarchy_base(struct str own)
{
	static const char tail[] = "/" HIERARCHY_CALLERS;
	size_t n = sizeof(tail) - 1;

	if (own.n >= n && memcmp(own.p + own.n - n, tail, n) == 0)
		own.n -= n;
	return own;
}

static void add_unified_controllers(struct hierarchy_layout *l)
{
	AUTO_FREE char *path = xasprintf("%s/cgroup.controllers", l->unified.dir);
	AUTO_BUF text = BUF_INIT(HIERARCHY_SELF_MAX_BYTES);
	struct str rest;

	if (io_read_file(AT_FDCWD, path, &text) < 0)
		return; /* a missing file counts as an empty one */
	rest = str_of(buf_str(&text));
	if (rest.n > 0 && rest.p[rest.n - 1] == '\n')
		rest.n--;
	while (rest.p) {
		struct str word = str_cut(&rest, ' ');

		for (unsigned c = 0; c < CONTROLLER_COUNT; c++)
			if (l->controller[c].version == 0 && str_eq(word, controller_names[c]))
				l->controller[c] = l->unified;
	}
}

int hierarchy_find(struct hierarchy_layout *ret)
{
	AUTO_BUF self = BUF_INIT(HIERARCHY_SELF_MAX_BYTES);
	AUTO_BUF mounts = BUF_INIT(MOUNTINFO_MAX_BYTES);
	int r = io_read_file(AT_FDCWD, "/proc/self/cgroup", &self);

	if (r == 0)
		r = io_read_file(AT_FDCWD, "/proc/self/mountinfo", &mounts);
	if (r < 0)
		return r;
	hierarchy_locate((struct str){ self.p, self.n }, (struct str){ mounts.p, mounts.n }, ret);
	if (geteuid() == 0)
		place_find(str_of("0::/"), (struct str){ mounts.p, mounts.n }, NULL, &ret->unified);
	if (ret->unified.version != 0)
		add_unified_controllers(ret);
	return 0;
}

bool hierarchy_is_unified(void)
{
	struct statfs fs;

	return statfs(UNIFIED_MOUNT, &fs) == 0 && fs.f_type == CGROUP2_MAGIC;
}

/* Writes the path of the control group of the user's systemd. The groups of its units are below
 * this path. */
static void manager_path(char out[128])
{
	unsigned uid = geteuid();

	snprintf(out, 128, "/user.slice/user-%u.slice/user@%u.service/", uid, uid);
}

enum hierarchy_owner hierarchy_owner(void)
{
	AUTO_BUF self = BUF_INIT(HIERARCHY_SELF_MAX_BYTES);
	AUTO_FREE char *control = NULL;
	char manager[128];
	struct str path;

	if (io_read_file(AT_FDCWD, "/proc/self/cgroup", &self) < 0 ||
	    !own_path((struct str){ self.p, self.n }, NULL, &path))
		return HIERARCHY_OTHERS;
	path = hierarchy_base(path);
	control = xasprintf(UNIFIED_MOUNT "%.*s/cgroup.subtree_control", (int)path.n, path.p);
	if (faccessat(AT_FDCWD, control, W_OK, AT_EACCESS) < 0)
		return HIERARCHY_OTHERS;
	manager_path(manager);
	return path.n > strlen(manager) && memcmp(path.p, manager, strlen(manager)) == 0
		       ? HIERARCHY_UNIT
		       : HIERARCHY_GIVEN;
}

void hierarchy_scope_name(const char *id, char out[HIERARCHY_SCOPE_BYTES])
{
	snprintf(out, HIERARCHY_SCOPE_BYTES, "cordon-%.*s.scope", HIERARCHY_SCOPE_DIGITS, id);
}

int hierarchy_open_scope(const char *id)
{
	char name[HIERARCHY_SCOPE_BYTES], manager[128], path[256];
	AUTO_FD fd = -1;
	struct stat st;

	hierarchy_scope_name(id, name);
	manager_path(manager);
	snprintf(path, sizeof(path), UNIFIED_MOUNT "%s" HIERARCHY_SCOPE_SLICE "/%s", manager, name);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid())
		return -1;
	return fd_take(&fd);
}
