#include "client/image.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "host/idmap.h"
#include "image/store.h"
#include "spec/grammar.h"
#include "state/home.h"

/* /tmp may take a quarter of the sandbox's memory, but at most this much */
#define DEFAULT_TMP_MAX_MIB 512u

/* --- what the configuration says ------------------------------------------------------------- */

static void copy_strings(struct strv *to, const struct image_strings *from)
{
	strv_done(to);
	for (size_t i = 0; i < from->n; i++)
		strv_add(to, from->v[i]);
}

/* Turns a path of the image's configuration, a working directory or a volume, into an absolute
 * path without `.` and `..`. */
static char *guest_path(const char *s)
{
	AUTO_FREE char *absolute = s[0] == '/' ? xstrdup(s) : xasprintf("/%s", s);

	return path_normalise(absolute);
}

/* Returns true if S already has a label KEY. The caller then does not take the label KEY of the
 * image. */
static bool has_label(const struct spec *s, const char *key)
{
	for (size_t i = 0; i < s->n_labels; i++)
		if (strcmp(s->label[i].key, key) == 0)
			return true;
	return false;
}

/* Gives registry images a /tmp in memory, unless another mount is at /tmp or the spec wants /tmp in
 * the layer. */
static int add_default_tmp(struct spec *s, struct err *e)
{
	uint64_t size =
		s->memory_mib / 4 < DEFAULT_TMP_MAX_MIB ? s->memory_mib / 4 : DEFAULT_TMP_MAX_MIB;
	AUTO_FREE char *value = xasprintf("/tmp:%lluM", (unsigned long long)(size ? size : 1));

	for (size_t i = 0; i < s->n_mounts; i++)
		if (strcmp(s->mount[i].guest, "/tmp") == 0)
			return 0;
	for (size_t i = 0; i < s->writable.n; i++)
		if (path_below(s->writable.v[i], "/tmp"))
			return 0;
	return spec_add_tmpfs(s, value, e);
}

static bool is_on_mount(const struct spec *s, const char *path)
{
	for (size_t i = 0; i < s->n_mounts; i++)
		if (path_below(s->mount[i].guest, path))
			return true;
	return false;
}

/* Makes sure that the directory PATH exists in the sandbox and is writable, even if the root is
 * read-only. */
static int add_volume(struct spec *s, const char *path, struct err *e)
{
	if (!s->read_only)
		return spec_add_patch(s, "--mkdir", path, e);
	return is_on_mount(s, path) ? 0 : spec_add_writable(s, "--writable", path, e);
}

/* Makes a writable directory for each volume that the image's configuration C names. The files of
 * such a volume are kept in the sandbox's own layer. */
static int add_volumes(struct spec *s, const struct image_config *c, struct err *e)
{
	for (size_t i = 0; i < c->volumes.n; i++) {
		AUTO_FREE char *path = guest_path(c->volumes.v[i]);

		if (path && strcmp(path, "/") == 0)
			continue;
		if (!path || add_volume(s, path, e) < 0)
			return err_set(e, ERR_INVALID, "volume of image '%s': bad path '%.200s'",
				       s->image.reference, c->volumes.v[i]);
	}
	return 0;
}

static int apply_config(struct spec *s, const struct image_config *c, struct err *e)
{
	if (!s->user && c->user) {
		if (parse_user(c->user, e) < 0)
			return err_wrap(e, "USER of image '%s'", s->image.reference);
		s->user = xstrdup(c->user);
	}
	if (!s->workdir && c->working_dir)
		s->workdir = guest_path(c->working_dir);
	if (!s->has_entrypoint) {
		copy_strings(&s->entrypoint, &c->entrypoint);
		s->has_entrypoint = c->entrypoint.n > 0;
	}
	if (!s->cmd.n)
		copy_strings(&s->cmd, &c->cmd);
	if (!s->stop_signal && c->stop_signal) {
		if (signal_number(c->stop_signal) < 0)
			return err_set(e, ERR_INVALID, "stop signal of image '%s': no signal '%s'",
				       s->image.reference, c->stop_signal);
		s->stop_signal = xstrdup(c->stop_signal);
	}
	copy_strings(&s->image_env, &c->env);
	for (size_t i = 0; i < c->n_labels; i++)
		if (!has_label(s, c->label[i].key))
			spec_set_env(&s->label, &s->n_labels, c->label[i].key,
				     strlen(c->label[i].key), c->label[i].value);
	return add_volumes(s, c, e) < 0 ? -1 : add_default_tmp(s, e);
}

/* --- the store ------------------------------------------------------------------------------- */

static void add_login(struct strv *argv, const struct image_fetch *f)
{
	if (!f->username)
		return;
	strv_add(argv, "--username");
	strv_add(argv, f->username);
	strv_add(argv, "--password-env");
	strv_add(argv, f->password_env);
}

static int pull(const struct home *h, const struct image_fetch *f, const char *reference,
		bool update, struct err *e)
{
	struct strv argv = { 0 };
	int r;

	imager_words(&argv, "pull", h->path);
	if (f->quiet)
		strv_add(&argv, "--quiet");
	if (update)
		strv_add(&argv, "--update");
	add_login(&argv, f);
	strv_add(&argv, "--");
	strv_add(&argv, reference);
	r = imager_run(&argv, f->hint, e);
	strv_done(&argv);
	return r;
}

static int find(const struct home *h, const struct image_fetch *f, const struct spec *s,
		struct image_record *ret, struct err *e)
{
	const char *reference = s->image.reference;

	if (s->pull == PULL_ALWAYS && pull(h, f, reference, true, e) < 0)
		return -1;
	if (image_store_find(h->fd, reference, ret, e) == 0)
		return 0;
	if (e->code != ERR_NOT_FOUND || s->pull == PULL_ALWAYS)
		return -1;
	if (s->pull == PULL_NEVER)
		return err_set(e, ERR_NOT_FOUND, "image error: image not cached: %s", reference);
	if (pull(h, f, reference, false, e) < 0)
		return -1;
	return image_store_find(h->fd, reference, ret, e);
}

/* --- the flat form --------------------------------------------------------------------------- */

bool image_flat_usable(void)
{
	return geteuid() == 0 && idmap_is_whole();
}

int image_check_flat(const char *flag, const char *value, struct err *e)
{
	if (image_flat_usable())
		return 0;
	err_set(e, ERR_UNSUPPORTED, "%s %s: a disk cannot be mounted without root%s", flag, value,
		geteuid() == 0 ? " of the machine" : "");
	return err_hint(e, "leave it out: the layers of an image can be used by everybody; or run "
			   "cordon as root");
}

static int flatten(const struct home *h, const struct image_fetch *f, const char *reference,
		   struct err *e)
{
	struct strv argv = { 0 };
	int r;

	imager_words(&argv, "flatten", h->path);
	strv_add(&argv, "--quiet");
	strv_add(&argv, "--");
	strv_add(&argv, reference);
	r = imager_run(&argv, f->hint, e);
	strv_done(&argv);
	return r;
}

/* Makes the flat form if it is missing. If the spec gives no size for the disk, the disk gets the
 * size of the flat form. */
static int find_flat(const struct home *h, const struct image_fetch *f,
		     const struct image_record *r, struct spec *s, struct err *e)
{
	struct spec_root_disk *d = &s->image.root_disk;
	uint64_t mib = 0;
	int rc = 0;

	if (image_store_flat(h->fd, r, &mib) == 0) {
		rc = flatten(h, f, r->reference, e);
		if (rc == 0 && image_store_flat(h->fd, r, &mib) == 0)
			rc = err_set(e, ERR_NOT_FOUND, "image '%s' was removed meanwhile",
				     r->reference);
	}
	if (rc < 0)
		return err_wrap(e, "--root-disk flat");
	if (!d->size_mib)
		d->size_mib = mib;
	return 0;
}

int image_resolve(const struct home *h, const struct image_fetch *f, struct spec *s, struct err *e)
{
	struct image_record r;
	struct image_config c;
	int result;

	if (find(h, f, s, &r, e) < 0)
		return -1;
	result = image_store_config(h->fd, &r, &c, e);
	if (result == 0) {
		result = apply_config(s, &c, e);
		image_config_done(&c);
	}
	if (result == 0) {
		free(s->image.manifest_digest);
		s->image.manifest_digest = xstrdup(r.manifest_digest);
		if (s->image.root_disk.kind == ROOT_DISK_FLAT)
			result = find_flat(h, f, &r, s, e);
	}
	image_record_done(&r);
	return result;
}
