/* Protects the files in struct project: the project file and the files that it includes. Wherever a
 * command in the sandbox could write to one of these files, a read-only mount of the file is put
 * over it. If a mount of the sandbox has such a file as its source, this mount itself becomes
 * read-only. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/project.h"
#include "host/location.h"
#include "spec/grammar.h"
#include "spec/spec.h"

/* cover_below() looks for one file in one shared directory. `below` has every path that leads to
 * the file, relative to this directory. */
struct places {
	struct strv below;
};

static void note(void *arg, const char *below)
{
	strv_add(&((struct places *)arg)->below, below);
}

/* PATH is a path of the sandbox, in the mount with the index OUTER, or in the root if OUTER is
 * SIZE_MAX. Returns true if another mount below OUTER covers PATH. */
static bool is_covered(const struct spec *s, size_t outer, const char *path)
{
	size_t n = outer == SIZE_MAX ? 0 : strlen(s->mount[outer].guest);

	for (size_t i = 0; i < s->n_mounts; i++)
		if (i != outer && strlen(s->mount[i].guest) > n &&
		    path_below(s->mount[i].guest, path))
			return true;
	return false;
}

/* Adds a read-only mount of FILE at PATH. PATH lies in the mount OUTER, and the new mount gets
 * the owner options of OUTER. If OUTER is SIZE_MAX, PATH lies in the root, and the new mount gets
 * no such options. */
static int cover_one(const struct project_text *file, struct spec *s, size_t outer,
		     const char *path, struct err *e)
{
	struct spec_mount m = { .kind = MOUNT_BIND, .want = WANT_FILE, .readonly = true };
	AUTO_FD fd = -1;

	/* the path had no link when we looked it up; identity_open() does not follow a link that
	 * was made since */
	if (identity_open(file->path, &m.identity, &fd, e) < 0)
		return -1;
	if (outer != SIZE_MAX) {
		const struct spec_mount *o = &s->mount[outer];

		m.has_owner = o->has_owner;
		m.uid = o->uid;
		m.gid = o->gid;
		m.stat_virt = o->stat_virt;
		m.stat_virt_set = o->stat_virt_set;
	}
	m.source = xstrdup(file->path);
	return spec_take_mount(s, PROJECT_FILE, path, &m, e);
}

/* Covers FILE below the shared directory FD. FD is the mount OUTER, or the root if OUTER is
 * SIZE_MAX. */
static int cover_below(const struct mounts *m, const struct project_text *file,
		       const struct location *what, struct spec *s, size_t outer, int fd,
		       struct err *e)
{
	AUTO_FREE char *guest = xstrdup(outer == SIZE_MAX ? "" : s->mount[outer].guest);
	struct places found = { 0 };
	int r = mounts_find(m, fd, what, note, &found, e);

	for (size_t i = 0; r == 0 && i < found.below.n; i++) {
		AUTO_FREE char *path = xasprintf("%s%s", guest, found.below.v[i]);

		if (!is_covered(s, outer, path))
			r = cover_one(file, s, outer, path, e);
	}
	strv_done(&found.below);
	return r;
}

static int cover_in_mount(const struct mounts *m, const struct project_text *file,
			  const struct location *what, struct spec *s, size_t i, struct err *e)
{
	AUTO_LOCATION here = { 0 };
	AUTO_FD fd = -1;

	if (identity_open(s->mount[i].source, &s->mount[i].identity, &fd, e) < 0)
		return -1;
	if (!s->mount[i].identity.of_parent)
		return cover_below(m, file, what, s, i, fd, e);
	if (mounts_locate(m, fd, &here, e) < 0)
		return -1;
	if (location_is_within(&here, what)) /* the source of the mount is the file itself */
		s->mount[i].readonly = true;
	return 0;
}

static int cover_in_root(const struct mounts *m, const struct project_text *file,
			 const struct location *what, struct spec *s, struct err *e)
{
	AUTO_FD fd = -1;

	/* in a copy-on-write root a command can only change a copy of the file, so the file needs
	 * no cover */
	if (!spec_image_in_place(&s->image))
		return 0;
	if (identity_open(s->image.reference, &s->image.identity, &fd, e) < 0)
		return -1;
	return cover_below(m, file, what, s, SIZE_MAX, fd, e);
}

static int cover_file(const struct mounts *m, const struct project_text *file, struct spec *s,
		      struct err *e)
{
	size_t n = s->n_mounts; /* the covers that we add are not visited */
	AUTO_LOCATION what = { 0 };

	if (mounts_locate(m, file->fd, &what, e) < 0 || cover_in_root(m, file, &what, s, e) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (s->mount[i].kind == MOUNT_BIND && !s->mount[i].readonly &&
		    cover_in_mount(m, file, &what, s, i, e) < 0)
			return -1;
	return 0;
}

int project_cover(const struct project *p, struct spec *s, struct err *e)
{
	AUTO_MOUNTS mounts = { 0 };
	size_t ignored;

	if (spec_hold_sources(s, &ignored, e) < 0 || mounts_read(&mounts, e) < 0)
		return -1;
	for (size_t i = 0; i < p->n_files; i++)
		if (cover_file(&mounts, &p->file[i], s, e) < 0)
			return -1;
	return spec_hold_sources(s, &ignored, e);
}
