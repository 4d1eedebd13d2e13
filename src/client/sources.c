#include "client/sources.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/source_rules.h"
#include "client/volumes.h"
#include "host/location.h"
#include "spec/grammar.h"
#include "state/places.h"

/* Refuses mount options that the process engine can never fulfil. The options `uid=`, `gid=` and
 * `quota=` work only for some users, so the supervisor checks these options when a user starts the
 * sandbox. */
static int check_promises(const struct spec_mount *m, struct err *e)
{
	if (m->quota_mib && m->kind == MOUNT_BIND) {
		err_set(e, ERR_UNSUPPORTED,
			"'quota=' on '%s': what is added to a host path cannot be limited",
			m->guest);
		return err_hint(e, "use a named volume: -v NAME:PATH:quota=SIZE");
	}
	if (m->stat_virt_set && m->stat_virt != STAT_VIRT_OFF)
		return err_set(e, ERR_UNSUPPORTED,
			       "'stat-virt=%s' on '%s': owners and modes kept apart from the "
			       "host's are not supported yet",
			       spec_stat_virt_names[m->stat_virt], m->guest);
	if (m->host_perms_set && !m->host_perms_mirror)
		return err_set(e, ERR_UNSUPPORTED,
			       "'host-perms=private' on '%s': modes kept apart from the host's "
			       "are not supported yet",
			       m->guest);
	if (m->has_owner && m->stat_virt == STAT_VIRT_OFF)
		return err_set(e, ERR_INVALID,
			       "'uid=' and 'gid=' on '%s' do not go with 'stat-virt=off'",
			       m->guest);
	return 0;
}

static int check_raw(const char *what, const char *path, const char *format, struct err *e)
{
	if (!format || strcmp(format, "raw") == 0)
		return 0;
	err_set(e, ERR_UNSUPPORTED, "%s '%s' has format %s, and only raw can be mounted here", what,
		path, format);
	return err_hint(e, "convert it: qemu-img convert -O raw FILE FILE.raw");
}

/* --- our own state --------------------------------------------------------------------------- */

/* The mounts of this machine, and where our own state lies in them. */
struct view {
	struct mounts mounts;
	struct strv place; /* the paths of the parts of our state */
	/* the location of each place; has no path if the place does not exist */
	struct location *state;
};

static void view_done(struct view *v)
{
	mounts_done(&v->mounts);
	for (size_t i = 0; v->state && i < v->place.n; i++)
		location_done(&v->state[i]);
	free(v->state);
	strv_done(&v->place);
}
#define AUTO_VIEW __attribute__((cleanup(view_done))) struct view

static int view_open(struct view *v, const struct home *h, struct err *e)
{
	int r = mounts_read(&v->mounts, e);

	places_list(h, &v->place);
	v->state = xcalloc(v->place.n + 1, sizeof(*v->state));
	for (size_t i = 0; r == 0 && i < v->place.n; i++) {
		AUTO_FD fd = open(v->place.v[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0)
			r = mounts_locate(&v->mounts, fd, &v->state[i], e);
	}
	return r;
}

static void note(void *arg, const char *below)
{
	*(bool *)arg = true;
}

/* Sets *RET to the part of our state that contains PATH, or to NULL. If SHOWS is true, also finds a
 * part of our state that lies in PATH. */
static int find_state(const struct view *v, const char *path, const struct identity *id, bool shows,
		      const char **ret, struct err *e)
{
	struct identity same = *id;
	AUTO_LOCATION here = { 0 };
	AUTO_FD fd = -1;
	int r = identity_open(path, &same, &fd, e);

	*ret = NULL;
	if (r == 0)
		r = mounts_locate(&v->mounts, fd, &here, e);
	for (size_t i = 0; r == 0 && !*ret && i < v->place.n; i++) {
		bool found = v->state[i].path && location_is_within(&here, &v->state[i]);

		if (shows && v->state[i].path)
			r = mounts_find(&v->mounts, fd, &v->state[i], note, &found, e);
		if (found)
			*ret = v->place.v[i];
	}
	return r;
}

/* Refuses PATH, a source or a root disk, if it lies in our state, even if the sandbox would only
 * read it. The start of the sandbox checks this again. */
static int check_not_ours(const struct view *v, const char *path, const struct identity *id,
			  const char *what, struct err *e)
{
	const char *ours;

	if (find_state(v, path, id, false, &ours, e) < 0)
		return -1;
	if (ours)
		return err_set(e, ERR_DENIED, "%s '%s' is inside the state directory", what, path);
	return 0;
}

/* A root directory must not be the host's root, must not lie in our own state and must not contain
 * it. These rules hold for a copy-on-write directory, too: commands inside could read the records
 * of other sandboxes. */
static int check_root_dir(const struct spec_image *i, const struct view *v, const char *word,
			  struct err *e)
{
	const char *ours;

	if (strcmp(i->reference, "/") == 0)
		return err_set(e, ERR_DENIED,
			       "image '%s': the host's own root cannot be one; use 'host'", word);
	if (find_state(v, i->reference, &i->identity, true, &ours, e) < 0)
		return -1;
	if (ours)
		return err_set(e, ERR_DENIED, "image directory '%s' holds the state directory '%s'",
			       word, ours);
	return 0;
}

/* --- checks ---------------------------------------------------------------------------------- */

static int check_image(const struct spec *s, const char *word, const struct view *v, struct err *e)
{
	switch (s->image.kind) {
	case IMAGE_HOST:
	case IMAGE_OCI:
		return 0;
	case IMAGE_DIR:
		return check_root_dir(&s->image, v, word ? word : s->image.reference, e);
	case IMAGE_DISK:
		return err_set(e, ERR_UNSUPPORTED,
			       "disk image '%s': no engine here can boot one yet",
			       s->image.reference);
	}
	return 0;
}

static int check_one(struct spec_mount *m, const struct view *v, const struct home *h,
		     struct err *e)
{
	if (check_promises(m, e) < 0)
		return -1;
	if (m->kind == MOUNT_NAMED)
		return volumes_check(h, m, e);
	if (check_not_ours(v, m->source, &m->identity, "source", e) < 0)
		return -1;
	return m->kind == MOUNT_DISK ? check_raw("source", m->source, m->format, e) : 0;
}

static int check_mount(struct spec_mount *m, const struct view *v, const struct home *h,
		       struct err *e)
{
	if (check_one(m, v, h, e) == 0)
		return 0;
	return m->origin ? err_wrap(e, "%s", m->origin) : -1;
}

static int check_root_disk(const struct spec *s, const struct view *v, struct err *e)
{
	const struct spec_root_disk *d = &s->image.root_disk;

	if (spec_image_in_place(&s->image) || s->image.kind == IMAGE_DISK ||
	    d->kind != ROOT_DISK_PATH)
		return 0;
	if (check_not_ours(v, d->path, &d->identity, "--root-disk:", e) < 0)
		return -1;
	return check_raw("--root-disk:", d->path, d->format ? d->format : disk_format(d->path), e);
}

/* --- the whole ------------------------------------------------------------------------------- */

static bool is_path(const struct spec_mount *m)
{
	return m->kind == MOUNT_BIND || m->kind == MOUNT_DISK;
}

static int make_missing(const struct spec *s, const struct source_rules *r, size_t *ret_mount,
			struct err *e)
{
	for (size_t i = 0; r && i < r->makeable && i < s->n_mounts; i++) {
		const struct spec_mount *m = &s->mount[i];

		*ret_mount = i + 1;
		if (m->kind == MOUNT_BIND && !m->readonly && m->want != WANT_FILE &&
		    source_rules_make(r, m->source, e) < 0)
			return -1;
	}
	*ret_mount = 0;
	return 0;
}

/* Applies the rules to the paths as the user wrote them, so that a forbidden path gives the same
 * error whether it exists or not. Later judge() applies the rules again, to the objects that
 * were found. */
static int foresee(const struct spec *s, const struct source_rules *r, size_t *ret_mount,
		   struct err *e)
{
	for (size_t i = 0; r && i < s->n_mounts; i++) {
		*ret_mount = i + 1;
		if (is_path(&s->mount[i]) && source_rules_judge(r, s->mount[i].source, e) < 0 &&
		    e->code == ERR_DENIED)
			return -1;
	}
	*ret_mount = 0;
	return 0;
}

/* If the rules are `literal`, remembers the paths as the user wrote them, for compare(). */
static void remember(const struct spec *s, const struct source_rules *r, struct strv *ret)
{
	for (size_t i = 0; r && r->literal && i < s->n_mounts; i++)
		strv_add(ret, is_path(&s->mount[i]) ? s->mount[i].source : "");
}

/* Refuses links. The path that was found is canonical. If the written path differs from it, the
 * written path led over a link. */
static int compare(const struct spec *s, const struct strv *written, size_t *ret_mount,
		   struct err *e)
{
	for (size_t i = 0; i < written->n; i++) {
		*ret_mount = i + 1;
		if (is_path(&s->mount[i]) && strcmp(s->mount[i].source, written->v[i]) != 0)
			return err_set(e, ERR_DENIED, "'%s' leads over a link", written->v[i]);
	}
	*ret_mount = 0;
	return 0;
}

static int hold(struct spec *s, const struct source_rules *r, size_t *ret_mount, struct err *e)
{
	struct strv written = { 0 };
	int result;

	remember(s, r, &written);
	result = spec_hold_sources(s, ret_mount, e);
	if (result == 0)
		result = compare(s, &written, ret_mount, e);
	strv_done(&written);
	return result;
}

/* Applies the rules to the canonical path of every object that was found. */
static int judge(const struct spec *s, const struct source_rules *r, size_t *ret_mount,
		 struct err *e)
{
	const struct spec_image *i = &s->image;

	if (!r)
		return 0;
	if (((i->kind == IMAGE_DIR || i->kind == IMAGE_DISK) &&
	     source_rules_check(r, i->reference, e) < 0) ||
	    (i->root_disk.kind == ROOT_DISK_PATH &&
	     source_rules_check(r, i->root_disk.path, e) < 0))
		return -1;
	for (size_t k = 0; k < s->n_mounts; k++) {
		*ret_mount = k + 1;
		if (is_path(&s->mount[k]) && source_rules_check(r, s->mount[k].source, e) < 0)
			return -1;
	}
	*ret_mount = 0;
	for (size_t k = 0; k < s->n_patches; k++)
		if (s->patch[k].source && source_rules_check(r, s->patch[k].source, e) < 0)
			return -1;
	return 0;
}

static bool names_paths(const struct spec *s)
{
	for (size_t i = 0; i < s->n_mounts; i++)
		if (is_path(&s->mount[i]))
			return true;
	return s->image.kind == IMAGE_DIR || s->image.root_disk.kind == ROOT_DISK_PATH;
}

int sources_hold(struct spec *s, const char *image_word, const struct source_rules *rules,
		 const struct home *h, size_t *ret_mount, struct err *e)
{
	AUTO_VIEW v = { 0 };

	*ret_mount = 0;
	/* each path is looked up only here, before anything of the sandbox is made. So a missing
	 * path is noticed early */
	if (foresee(s, rules, ret_mount, e) < 0 || make_missing(s, rules, ret_mount, e) < 0 ||
	    hold(s, rules, ret_mount, e) < 0 || judge(s, rules, ret_mount, e) < 0)
		return -1;
	if (names_paths(s) && view_open(&v, h, e) < 0)
		return -1;
	if (check_image(s, image_word, &v, e) < 0)
		return -1;
	for (size_t i = 0; i < s->n_mounts; i++) {
		*ret_mount = i + 1;
		if (s->mount[i].kind != MOUNT_TMPFS && check_mount(&s->mount[i], &v, h, e) < 0)
			return -1;
	}
	*ret_mount = 0;
	return check_root_disk(s, &v, e);
}

int sources_hold_mounts(struct spec *s, const struct home *h, struct err *e)
{
	AUTO_VIEW v = { 0 };

	if (view_open(&v, h, e) < 0)
		return -1;
	for (size_t i = 0; i < s->n_mounts; i++)
		if (spec_hold_mount(&s->mount[i], e) < 0 || check_mount(&s->mount[i], &v, h, e) < 0)
			return -1;
	return 0;
}
