#include "image/implied.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/str.h"

struct search {
	const int *layer_fd;
	size_t n_layers;
	struct image_implied *out;
	size_t n;
};

/* Reads the extended attribute NAME of FD, like getxattr(). FD may be an O_PATH descriptor. Callers
 * use O_PATH because some directories belong to other users of the image, and we may not open those
 * for reading. The directories with one of our attributes usually belong to the image's root, whose
 * id on disk is our own, so we may read the attribute. */
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

/* Opens PATH of a layer without following a link. A whiteout gives -ENOTDIR. Returns a descriptor
 * or -errno. */
static int open_in(int layer_fd, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	int fd = sys_openat2(layer_fd, path, &how);

	return fd < 0 ? -errno : fd;
}

/* Adds PATH to the result with the owner and mode of FD. The mode also gets the bits AT_LEAST. Adds
 * nothing if the mode is then 0755 and owner and group are root's, or if the result has no room for
 * PATH. On disk, the ids of this process stand for those of root. */
static void add(struct search *s, const char *path, int fd, unsigned at_least)
{
	struct image_implied *p = &s->out[s->n];
	struct stat st;

	if (s->n == IMAGE_IMPLIED_MAX || strlen(path) >= sizeof(p->path) || fstat(fd, &st) < 0)
		return;
	p->mode = (st.st_mode & 07777) | at_least;
	p->uid = st.st_uid;
	p->gid = st.st_gid;
	snprintf(p->path, sizeof(p->path), "%s", path);
	s->n += p->mode != 0755 || p->uid != geteuid() || p->gid != getegid();
}

/* Returns true if a layer above LAYER has PATH. In this case there is nothing to do for LAYER. If
 * the higher layer has an entry for PATH, overlayfs shows the owner in this entry. If the higher
 * layer only implies PATH, consider() was already called for the higher layer. */
static bool is_decided(const struct search *s, size_t layer, const char *path)
{
	for (size_t i = layer + 1; i < s->n_layers; i++) {
		AUTO_FD above = open_in(s->layer_fd[i], path);

		if (above != -ENOENT)
			return true;
	}
	return false;
}

/* Adds PATH, which LAYER only implies, to the result. The owner and the mode come from the nearest
 * lower layer that has an entry for PATH. Without such an entry, adds nothing. Usually there is no
 * such entry, so we look for the entry before we call is_decided(). */
static void consider(struct search *s, size_t layer, const char *path)
{
	for (size_t i = layer; i-- > 0;) {
		AUTO_FD fd = open_in(s->layer_fd[i], path);

		if (fd == -ENOENT || (fd >= 0 && is_implied(fd)))
			continue;
		if (fd >= 0 && !is_decided(s, layer, path))
			add(s, path, fd, 0);
		return;
	}
}

size_t image_implied_find(const int *layer_fd, size_t n_layers,
			  struct image_implied out[IMAGE_IMPLIED_MAX])
{
	struct search s = { .layer_fd = layer_fd, .n_layers = n_layers, .out = out };
	char list[IMAGE_IMPLIED_LIST_MAX_BYTES];
	bool have_root = false;

	for (size_t i = n_layers; i-- > 0;) {
		ssize_t n = attribute(layer_fd[i], IMAGE_IMPLIED_LIST_XATTR, list, sizeof(list));

		if (!have_root && !is_implied(layer_fd[i])) {
			add(&s, "/", layer_fd[i], IMAGE_ROOT_MODE);
			have_root = true;
		}
		if (n <= 0 || list[n - 1] != '\0')
			continue;
		for (ssize_t at = 0; at < n; at += (ssize_t)strlen(list + at) + 1)
			consider(&s, i, list + at);
	}
	return s.n;
}

/* --- on disk --------------------------------------------------------------------------------- */

void image_implied_path(const struct image_record *r, char out[IMAGE_PATH_BYTES])
{
	/* "passed" is an old name for implied directories; existing stores have files with this
	 * name */
	snprintf(out, IMAGE_PATH_BYTES, "cache/layers/%s/passed-%.16s",
		 digest_hex(r->layer[r->n_layers - 1].digest), digest_hex(r->manifest_digest));
}

/* A name may hold any byte but NUL, so a NUL ends each name. */
void image_implied_write(const struct image_implied *p, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		buf_addf(out, "%u %u %u %s", p[i].mode, p[i].uid, p[i].gid, p[i].path);
		buf_add(out, "", 1);
	}
}

static int read_one(struct str line, struct image_implied *out)
{
	uint64_t mode, uid, gid;

	if (parse_u64_str(str_cut(&line, ' '), 0, 07777, &mode) < 0 || !line.p ||
	    parse_u64_str(str_cut(&line, ' '), 0, UINT32_MAX, &uid) < 0 || !line.p ||
	    parse_u64_str(str_cut(&line, ' '), 0, UINT32_MAX, &gid) < 0 || !line.p || line.n == 0 ||
	    line.n >= sizeof(out->path))
		return -EBADMSG;
	out->mode = (unsigned)mode;
	out->uid = (uint32_t)uid;
	out->gid = (uint32_t)gid;
	memcpy(out->path, line.p, line.n + 1);
	return 0;
}

int image_implied_read(const char *p, size_t n, struct image_implied out[IMAGE_IMPLIED_MAX])
{
	int found = 0;

	if (n > 0 && p[n - 1] != '\0')
		return -EBADMSG;
	for (size_t at = 0; at < n; at += strlen(p + at) + 1)
		if (found == IMAGE_IMPLIED_MAX || read_one(str_of(p + at), &out[found++]) < 0)
			return -EBADMSG;
	return found;
}
