#include "supervisor/passed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "image/store.h"

/* FD may be one that gives no access: what a directory of the payload's users is like can be seen, but
 * not what is in it. Those that are marked are open to all. */
static ssize_t attribute(int fd, const char *name, void *value, size_t n)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return getxattr(path, name, value, n);
}

static bool is_implied(int fd)
{
	char none;

	return attribute(fd, IMAGE_IMPLIED_XATTR, &none, 0) >= 0;
}

/* PATH of a layer, and nothing that a link leads to. -errno; -ENOTDIR also for a whiteout. */
static int open_in(const struct rootfs *r, size_t layer, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	int fd = sys_openat2(r->layer_fd[layer], path, &how);

	return fd < 0 ? -errno : fd;
}

/* What id N of a layer's files is to the payload; 0, root, for one that it cannot be told of. */
static uint32_t inside(const struct ids *i, uint32_t n, uint32_t caller, uint32_t base)
{
	switch (i->mode) {
	case IDS_RANGE:
		return n < IDS_PER_SANDBOX ? n : 0;
	case IDS_SUBID:
		return n != caller && n >= base && n - base < IDS_PER_SANDBOX - 2 ? n - base + 1
										  : 0;
	case IDS_SINGLE:
		break;
	}
	return 0;
}

/* Owner and mode of FD go to PATH; what a directory is anyway need not be said. */
static void add(struct rootfs *r, const char *path, int fd, unsigned at_least)
{
	struct rootfs_dress *d;
	struct stat st;

	if (r->n_dress == ROOTFS_DRESS_MAX || strlen(path) >= sizeof(d->path) || fstat(fd, &st) < 0)
		return;
	if (!r->dress)
		r->dress = xcalloc(ROOTFS_DRESS_MAX, sizeof(*r->dress));
	d = &r->dress[r->n_dress];
	d->mode = (st.st_mode & 07777) | at_least;
	d->uid = inside(r->ids, st.st_uid, r->ids->caller_uid, r->ids->uid_base);
	d->gid = inside(r->ids, st.st_gid, r->ids->caller_gid, r->ids->gid_base);
	snprintf(d->path, sizeof(d->path), "%s", path);
	r->n_dress += d->mode != 0755 || d->uid || d->gid;
}

/* A layer above LAYER has something at PATH: that one decides, or was asked before. */
static bool is_decided(const struct rootfs *r, size_t layer, const char *path)
{
	for (size_t i = layer + 1; i < r->n_layers; i++) {
		AUTO_FD above = open_in(r, i, path);

		if (above != -ENOENT)
			return true;
	}
	return false;
}

/* PATH is passed through by LAYER: the next one below that says more decides. Most often there is none,
 * so that is asked first. */
static void consider(struct rootfs *r, size_t layer, const char *path)
{
	for (size_t i = layer; i-- > 0;) {
		AUTO_FD fd = open_in(r, i, path);

		if (fd == -ENOENT || (fd >= 0 && is_implied(fd)))
			continue;
		if (fd >= 0 && !is_decided(r, layer, path))
			add(r, path, fd, 0);
		return;
	}
}

void passed_find(struct rootfs *r)
{
	char list[IMAGE_IMPLIED_LIST_MAX_BYTES];
	bool have_root = false;

	if (r->spec->image.kind != IMAGE_OCI)
		return;
	for (size_t i = r->n_layers; i-- > 0;) {
		int fd = r->layer_fd[i];
		ssize_t n = attribute(fd, IMAGE_IMPLIED_LIST_XATTR, list, sizeof(list));

		if (!have_root && !is_implied(fd)) {
			add(r, "/", fd, IMAGE_ROOT_MODE);
			have_root = true;
		}
		if (n <= 0 || list[n - 1] != '\0')
			continue;
		for (ssize_t at = 0; at < n; at += (ssize_t)strlen(list + at) + 1)
			consider(r, i, list + at);
	}
}
