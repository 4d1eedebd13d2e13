/*
 * Keeps our own state out of volumes and root directories.
 *
 * A payload that can write another sandbox's record controls that sandbox. So we refuse a volume
 * inside our state, and a root directory that is in our state or shows it, even if the directory is
 * used copy-on-write. If a volume shows our state somewhere, under any name, that place is covered
 * in the sandbox (process/rootfs.h).
 */
#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "host/location.h"
#include "state/places.h"
#include "supervisor/engine_process.h"

struct search {
	struct rootfs *r;
	size_t mount;
	bool seen;
};

static void hide(void *arg, const char *below)
{
	const struct search *s = arg;
	struct rootfs *r = s->r;
	struct rootfs_hidden *grown;

	for (size_t i = 0; i < r->n_hidden; i++)
		if (r->hidden[i].mount == s->mount && path_is_within(below, r->hidden[i].below))
			return; /* a directory above this place is covered already */
	grown = realloc(r->hidden, (r->n_hidden + 1) * sizeof(*grown));
	if (!grown)
		out_of_memory();
	r->hidden = grown;
	grown[r->n_hidden++] = (struct rootfs_hidden){ s->mount, xstrdup(below) };
}

static void see(void *arg, const char *below)
{
	((struct search *)arg)->seen = true;
}

static int check_volumes(const struct mounts *m, const struct location *state, struct rootfs *r,
			 struct err *e)
{
	for (size_t i = 0; i < r->spec->n_mounts; i++) {
		const struct spec_mount *one = &r->spec->mount[i];
		struct search s = { .r = r, .mount = i };
		AUTO_LOCATION here = { 0 };

		if (one->kind != MOUNT_BIND)
			continue;
		if (mounts_locate(m, r->volume_fd[i], &here, e) < 0)
			return -1;
		if (location_is_within(&here, state))
			return err_set(e, ERR_DENIED,
				       "volume source '%s' is inside the state directory",
				       one->source);
		if (!one->identity.of_parent &&
		    mounts_find(m, r->volume_fd[i], state, hide, &s, e) < 0)
			return -1;
	}
	return 0;
}

static int check_root(const struct mounts *m, const struct location *state, struct rootfs *r,
		      struct err *e)
{
	struct search s = { .r = r };
	AUTO_LOCATION here = { 0 };

	int dir;

	if (r->spec->image.kind != IMAGE_DIR)
		return 0;
	/* The last layer is the directory that the user named as the image. We made all other
	 * layers ourselves, so they need no check. */
	dir = r->layer_fd[r->n_layers - 1];
	if (mounts_locate(m, dir, &here, e) < 0 || mounts_find(m, dir, state, see, &s, e) < 0)
		return -1;
	if (s.seen || location_is_within(&here, state))
		return err_set(e, ERR_DENIED, "image directory '%s' holds the state directory",
			       r->spec->image.reference);
	return 0;
}

static int check_against(const struct mounts *m, const char *place, struct rootfs *r, struct err *e)
{
	AUTO_FD fd = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_LOCATION state = { 0 };

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, errno, "open '%s'", place);
	if (mounts_locate(m, fd, &state, e) < 0 || check_root(m, &state, r, e) < 0)
		return -1;
	return check_volumes(m, &state, r, e);
}

static bool is_needed(const struct spec *s)
{
	for (size_t i = 0; i < s->n_mounts; i++)
		if (s->mount[i].kind == MOUNT_BIND)
			return true;
	return s->image.kind == IMAGE_DIR;
}

int own_state_find(const struct supervisor *s, struct rootfs *r, struct err *e)
{
	struct strv places = { 0 };
	AUTO_MOUNTS mounts = { 0 };
	int rc = 0;

	if (!is_needed(r->spec))
		return 0;
	if (mounts_read(&mounts, e) < 0)
		return -1;
	places_list(&s->home, &places);
	for (size_t i = 0; rc == 0 && i < places.n; i++)
		rc = check_against(&mounts, places.v[i], r, e);
	strv_done(&places);
	return rc;
}
