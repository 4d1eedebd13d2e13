#include "client/owner.h"

#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/layered.h"
#include "base/user.h"
#include "client/image.h"
#include "host/own_ids.h"
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

/* Returns true if USER is certainly root, so that the image's /etc/passwd need not be read. */
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

static int open_image(const struct home *h, const struct spec *s, const char *form,
		      struct layers *l, struct err *e)
{
	struct image_record r;
	int rc;

	if (s->image.kind == IMAGE_DIR) {
		/* if the path leads to another directory by now, the supervisor will refuse the
		 * path */
		l->fd[0] = open(s->image.reference, O_PATH | O_DIRECTORY | O_CLOEXEC);
		l->n = l->fd[0] >= 0;
		return 0;
	}
	if (image_store_find_digest(h->fd, s->image.manifest_digest, &r, e) < 0)
		return -1;
	rc = image_store_open_layers(h->fd, &r, form, l->fd, &l->n, &l->named, e);
	image_record_done(&r);
	return rc;
}

/* Reads a file of the image. A file that is missing or too long counts as empty, as in
 * guest/users.c. */
static void read_file(const struct layers *l, const char *path, struct buf *out)
{
	struct stat st;
	AUTO_FD fd = layered_open(l->fd, l->n, l->named, path, &st);

	if (fd < 0 || io_read_to_end(fd, out) < 0)
		buf_clear(out);
	/* replace each NUL byte, because it would hide the rest of the text */
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
	if (open_image(h, s, "", &l, e) < 0)
		return -1;
	read_file(&l, "etc/passwd", passwd);
	read_file(&l, "etc/group", group);
	return 0;
}

/* Sets *RET to the ids of the user of S. Does not change *RET if the user is root, if the image
 * does not know the user, or if an id of the user is above SPEC_OWNER_MAX. */
static int find_user(const struct home *h, const struct spec *s, struct spec_owner *ret,
		     struct err *e)
{
	AUTO_BUF passwd = BUF_INIT(USER_FILE_MAX_BYTES);
	AUTO_BUF group = BUF_INIT(USER_FILE_MAX_BYTES);
	struct err unknown; /* ignored: pid 1 reports a user that the image does not know */
	struct user u;

	if (is_root(s->user))
		return 0;
	if (read_users(h, s, &passwd, &group, e) < 0)
		return -1;
	if (user_find_in(s->user, buf_str(&passwd), buf_str(&group), &u, &unknown) == 0 &&
	    u.uid <= SPEC_OWNER_MAX && u.gid <= SPEC_OWNER_MAX && (u.uid || u.gid))
		*ret = (struct spec_owner){ true, u.uid, u.gid };
	return 0;
}

/* --- sandboxes of ordinary users ------------------------------------------------------------- */

static bool names_owner(const struct spec *s)
{
	for (size_t i = 0; i < s->n_mounts; i++)
		if (s->mount[i].has_owner)
			return true;
	return false;
}

/* Applies the mount options `uid=` and `gid=`. On the host all shared files belong to the user who
 * runs cordon, so in the sandbox they can have only one owner. */
static int follow_mounts(const struct spec *s, struct spec_owner *o, struct err *e)
{
	for (size_t i = 0; i < s->n_mounts; i++) {
		const struct spec_mount *m = &s->mount[i];

		if (!spec_mount_is_shared(m) || !m->has_owner)
			continue;
		if (o->set && (o->uid != m->uid || o->gid != m->gid)) {
			err_set(e, ERR_UNSUPPORTED,
				"'%s' has the owner %u:%u, but other shared files belong to %u:%u",
				m->guest, m->uid, m->gid, o->uid, o->gid);
			return err_hint(e, "without root all shared files have one owner inside: "
					   "choose the user with -u and leave uid= and gid= out");
		}
		if (m->uid > SPEC_OWNER_MAX || m->gid > SPEC_OWNER_MAX)
			return err_set(e, ERR_INVALID, "uid= and gid= of '%s' must be below %u",
				       m->guest, SPEC_OWNER_MAX + 1);
		if (m->uid || m->gid)
			*o = (struct spec_owner){ true, m->uid, m->gid };
	}
	return 0;
}

static int check_ids(const struct spec *s, struct err *e)
{
	struct err why = { 0 };
	struct own_ids own;

	own_ids_find(&own, &why);
	if (own.kind == OWN_IDS_SUB)
		return 0;
	*e = why;
	return err_wrap(e, "user '%s' cannot work in a shared directory (root can: -u root)",
			s->user ? s->user : "root");
}

/* If S has an OCI image, makes the layers of the image for the owner s->owner, unless the store has
 * them already. The store keeps the layers of an image once for each owner that a sandbox
 * needed. */
static int make_layers(const struct home *h, const struct image_fetch *f, const struct spec *s,
		       struct err *e)
{
	const struct rotation rotation = { s->owner.uid, s->owner.gid };
	AUTO_FREE char *owner = xasprintf("%u:%u", rotation.uid, rotation.gid);
	char form[IMAGE_FORM_BYTES];
	struct strv argv = { 0 };
	AUTO_LAYERS l = { .n = 0 };
	int r;

	image_form_name(&rotation, form);
	if (s->image.kind != IMAGE_OCI || open_image(h, s, form, &l, e) == 0)
		return 0;
	if (e->code != ERR_NOT_FOUND)
		return -1;
	imager_words(&argv, "own", h->path);
	strv_add(&argv, "--owner");
	strv_add(&argv, owner);
	strv_add(&argv, "--");
	strv_add(&argv, s->image.manifest_digest);
	r = imager_run(&argv, f->hint, e);
	strv_done(&argv);
	return r < 0 ? err_wrap(e, "unpack image '%s' for user %s", s->image.reference, owner) : 0;
}

int owner_find(const struct home *h, const struct image_fetch *f, struct spec *s, struct err *e)
{
	s->owner = (struct spec_owner){ 0 };
	if (!shares(s))
		return 0;
	if (find_user(h, s, &s->owner, e) < 0)
		return -1;
	/* In most sandboxes the user is root and no mount has an owner; then no layers are needed.
	 * If each sandbox has its own range of ids, s->owner is already right. */
	if ((!s->owner.set && !names_owner(s)) || own_ids_have_range(own_ids_may_mount()))
		return 0;
	if (follow_mounts(s, &s->owner, e) < 0)
		return -1;
	if (!s->owner.set)
		return 0;
	return check_ids(s, e) < 0 ? -1 : make_layers(h, f, s, e);
}

int owner_follow(const struct home *h, struct spec *s, bool *ret_fixed, struct err *e)
{
	struct spec_owner worker = { 0 };
	int r = s->owner.set || !shares(s) ? 0 : find_user(h, s, &worker, e);

	*ret_fixed = r == 0 && worker.set && !own_ids_have_range(own_ids_may_mount());
	if (r == 0 && worker.set && !*ret_fixed)
		s->owner = worker;
	return r;
}
