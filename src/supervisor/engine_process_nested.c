#include "supervisor/engine_process_nested.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

static bool is_shared_directory(const struct spec_mount *m)
{
	return (m->kind == MOUNT_BIND && !m->identity.of_parent) ||
	       (m->kind == MOUNT_NAMED && !m->kind_disk);
}

/* Returns the number of the mount that mount I lies in if this is a writable shared directory. In
 * all other cases returns SIZE_MAX. */
static size_t source_of(const struct spec *spec, size_t i)
{
	size_t outer = spec_mount_above(spec, i);

	if (outer == SIZE_MAX || spec->mount[outer].readonly ||
	    !is_shared_directory(&spec->mount[outer]))
		return SIZE_MAX;
	return outer;
}

static const char *path_in(const struct spec *spec, size_t i, size_t outer)
{
	return spec->mount[i].guest + strlen(spec->mount[outer].guest);
}

/* Fails if the mount point of mount I lies inside a directory of our own state. The sandbox does
 * not see this directory, because a cover is mounted over it (own_state_find()). */
static int check_hidden(const struct rootfs *r, size_t i, size_t outer, struct err *e)
{
	const char *path = path_in(r->spec, i, outer);

	for (size_t k = 0; k < r->n_hidden; k++) {
		const struct rootfs_hidden *h = &r->hidden[k];

		/* a mount may take the place of the cover */
		if (h->mount == outer && strcmp(path, h->below) != 0 &&
		    path_is_within(path, h->below))
			return err_set(e, ERR_DENIED,
				       "mount target '%s' is inside the state directory, which "
				       "volume '%s' does not show",
				       r->spec->mount[i].guest, r->spec->mount[outer].source);
	}
	return 0;
}

/* Makes the mount point. If we are root, we make it under the ids of the source's owner. The
 * sandbox writes to the source under the same ids, so we make nothing that the sandbox could not
 * make itself. */
static int make(const struct mount_points *points, const struct rootfs *r, size_t i, size_t outer,
		struct err *e)
{
	const struct spec_mount *m = &r->spec->mount[i];
	bool is_dir = m->kind != MOUNT_BIND || !m->identity.of_parent;
	bool root = geteuid() == 0;
	struct stat st;
	int made;

	if (fstat(r->volume_fd[outer], &st) < 0)
		return err_sys(e, errno, "look at volume '%s'", r->spec->mount[outer].source);
	if (root) {
		setfsgid(st.st_gid);
		setfsuid(st.st_uid);
	}
	made = mount_points_make_one(points, r->volume_fd[outer], path_in(r->spec, i, outer),
				     is_dir, r->spec->mount[outer].source, e);
	if (root) {
		setfsuid(0);
		setfsgid(0);
	}
	return made;
}

/* Returns the element of n->source for the source of mount OUTER, or NULL after a failure. If there
 * is none yet, adds it with mount_points_enter(). ENTRY[OUTER] is the number of this element,
 * counted from 1, or 0 if there is none. */
static struct mount_points *enter(const struct home *h, const struct rootfs *r, size_t outer,
				  size_t *entry, struct nested *n, struct err *e)
{
	if (!n->source)
		n->source = xcalloc(r->spec->n_mounts, sizeof(*n->source));
	if (entry[outer] == 0) {
		entry[outer] = ++n->n;
		if (mount_points_enter(h, r->volume_fd[outer], LINKS_REFUSED,
				       r->spec->mount[outer].source, &n->source[n->n - 1], e) < 0)
			return NULL;
	}
	return &n->source[entry[outer] - 1];
}

/* Returns true if the source of mount OUTER has the mount point of mount I, and no sandbox made
 * this mount point. In this case no sandbox will remove the mount point, and nested_make() has
 * nothing to do. A mount point that a sandbox made is removed by the last sandbox that uses the
 * source. The sandboxes of a source note their mount points in a file in the home. The sandboxes
 * create this file before they make the first mount point, and delete the file after they have
 * removed the last mount point. mount_points_noted() looks for this file. So if the file is missing
 * both before and after we see the mount point, no sandbox made the mount point. */
static bool is_theirs(const struct home *h, const struct rootfs *r, size_t i, size_t outer)
{
	int source = r->volume_fd[outer];

	return !mount_points_noted(h, source) &&
	       mount_points_has(source, path_in(r->spec, i, outer), LINKS_REFUSED) &&
	       !mount_points_noted(h, source);
}

int nested_make(const struct home *h, const struct rootfs *r, struct nested *n, struct err *e)
{
	AUTO_FREE size_t *entry = xcalloc(r->spec->n_mounts + 1, sizeof(*entry));

	for (size_t i = 0; i < r->spec->n_mounts; i++) {
		size_t outer = source_of(r->spec, i);
		struct mount_points *points;

		if (outer == SIZE_MAX)
			continue;
		if (check_hidden(r, i, outer, e) < 0)
			return -1;
		if (is_theirs(h, r, i, outer))
			continue;
		points = enter(h, r, outer, entry, n, e);
		if (!points || make(points, r, i, outer, e) < 0)
			return -1;
	}
	return 0;
}

int nested_confine(const struct nested *n, struct confine_files *f, struct err *e)
{
	for (size_t i = 0; i < n->n; i++)
		if (mount_points_confine(&n->source[i], f, e) < 0)
			return -1;
	return 0;
}

void nested_leave(const struct home *h, struct nested *n)
{
	for (size_t i = 0; i < n->n; i++)
		mount_points_leave(h, &n->source[i]);
	free_p(&n->source);
	n->n = 0;
}

static int open_source(const struct home *h, struct spec_mount *m)
{
	AUTO_FREE char *named = NULL;
	struct err ignored;
	int fd = -1;

	if (m->kind == MOUNT_BIND)
		return identity_open(m->source, &m->identity, &fd, &ignored) < 0 ? -1 : fd;
	named = xasprintf("%s/data", m->source);
	return home_open_in(h, "volumes", named, O_PATH | O_DIRECTORY);
}

void nested_reap(const struct home *h, struct spec *spec)
{
	for (size_t i = 0; i < spec->n_mounts; i++) {
		size_t outer = source_of(spec, i);
		AUTO_FD source = outer == SIZE_MAX ? -1 : open_source(h, &spec->mount[outer]);

		if (source >= 0)
			mount_points_reap(h, source, LINKS_REFUSED);
	}
}
