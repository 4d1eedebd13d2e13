#include "client/owner.h"

#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/layered.h"
#include "base/user.h"
#include "image/store.h"
#include "spec/host_users.h"
#include "state/home.h"

static bool shares(const struct spec *s)
{
	for (size_t i = 0; i < s->n_mounts; i++)
		if (spec_mount_is_shared(&s->mount[i]))
			return true;
	return false;
}

/* Returns true if USER is surely root, so that no file must be read. */
static bool is_root(const char *user)
{
	return !user || strcmp(user, "root") == 0 || strcmp(user, "0") == 0 ||
	       strcmp(user, "root:root") == 0 || strcmp(user, "0:0") == 0;
}

/* The directories that make up the root of an image. */
struct layers {
	int fd[IMAGE_LAYERS_MAX];
	size_t n;
	bool named;
};

static void layers_close(struct layers *l)
{
	for (size_t i = 0; i < l->n; i++)
		fd_closep(&l->fd[i]);
}
#define AUTO_LAYERS __attribute__((cleanup(layers_close))) struct layers

static int open_image(const struct home *h, const struct spec *s, struct layers *l, struct err *e)
{
	struct image_record r;
	int rc;

	if (s->image.kind == IMAGE_DIR) {
		/* an image that leads elsewhere by now is refused by the supervisor */
		l->fd[0] = open(s->image.reference, O_PATH | O_DIRECTORY | O_CLOEXEC);
		l->n = l->fd[0] >= 0;
		return 0;
	}
	if (image_store_find_digest(h->fd, s->image.manifest_digest, &r, e) < 0)
		return -1;
	rc = image_store_open_layers(h->fd, &r, l->fd, &l->n, &l->named, e);
	image_record_done(&r);
	return rc;
}

/* Reads a file of the image. A file that is missing or too long counts as empty, as in guest/users.c. */
static void read_file(const struct layers *l, const char *path, struct buf *out)
{
	struct stat st;
	AUTO_FD fd = layered_open(l->fd, l->n, l->named, path, &st);

	if (fd < 0 || io_read_to_end(fd, out) < 0)
		buf_clear(out);
	/* NUL bytes would hide the rest of the text */
	for (size_t i = 0; i < out->n; i++)
		if (out->p[i] == '\0')
			out->p[i] = '?';
}

static int read_users(const struct home *h, const struct spec *s, struct buf *passwd,
		      struct buf *group, struct err *e)
{
	AUTO_LAYERS l = { .n = 0 };

	if (s->image.kind == IMAGE_HOST) {
		buf_add_str(passwd, HOST_IMAGE_PASSWD);
		buf_add_str(group, HOST_IMAGE_GROUP);
		return 0;
	}
	if (open_image(h, s, &l, e) < 0)
		return -1;
	read_file(&l, "etc/passwd", passwd);
	read_file(&l, "etc/group", group);
	return 0;
}

int owner_find(const struct home *h, struct spec *s, struct err *e)
{
	AUTO_BUF passwd = BUF_INIT(USER_FILE_MAX_BYTES);
	AUTO_BUF group = BUF_INIT(USER_FILE_MAX_BYTES);
	struct err unknown; /* pid 1 reports a user that the image does not know */
	struct user u;

	s->owner = (struct spec_owner){ 0 };
	if (is_root(s->user) || !shares(s))
		return 0;
	if (read_users(h, s, &passwd, &group, e) < 0)
		return -1;
	if (user_find_in(s->user, buf_str(&passwd), buf_str(&group), &u, &unknown) == 0 &&
	    u.uid <= SPEC_OWNER_MAX && u.gid <= SPEC_OWNER_MAX && (u.uid || u.gid))
		s->owner = (struct spec_owner){ true, u.uid, u.gid };
	return 0;
}

int owner_follow(const struct home *h, struct spec *s, struct err *e)
{
	return s->owner.set ? 0 : owner_find(h, s, e);
}
