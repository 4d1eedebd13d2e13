#include "cli/mounts.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/sources.h"
#include "spec/grammar.h"
#include "spec/list.h"

/* --- options --------------------------------------------------------------------------------- */

int mounts_from_args(const struct args *a, struct spec *s, struct err *e)
{
	static const struct {
		const char *name;
		enum mount_flag flag;
	} kinds[] = { { "volume", MOUNT_FLAG_VOLUME },
		      { "mount-dir", MOUNT_FLAG_DIR },
		      { "mount-file", MOUNT_FLAG_FILE },
		      { "mount-disk", MOUNT_FLAG_DISK },
		      { "mount-named", MOUNT_FLAG_NAMED } };
	const struct strv *tmpfs = args_list(a, "tmpfs");

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		const struct strv *l = args_list(a, kinds[k].name);

		for (size_t i = 0; i < l->n; i++)
			if (spec_add_mount(s, kinds[k].flag, l->v[i], e) < 0)
				return -1;
	}
	for (size_t i = 0; i < tmpfs->n; i++)
		if (spec_add_tmpfs(s, tmpfs->v[i], e) < 0)
			return -1;
	return 0;
}

/* --- paths that were looked up before -------------------------------------------------------- */

void mounts_write_identity(const struct identity *id, const char *path, struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out, 0);
	identity_write_json(id, &w);
	buf_add_str(out, path);
}

static void expect(struct identity *id, const struct identity *is, const char *path,
		   const char *named)
{
	if (path && strcmp(path, named) == 0)
		*id = *is;
}

int mounts_expect(const struct args *a, struct spec *s, struct err *e)
{
	const struct strv *all = args_list(a, "identity");

	for (size_t i = 0; i < all->n; i++) {
		const char *end = strstr(all->v[i], "}/"), *path = end ? end + 1 : NULL;
		AUTO_JSON doc = NULL;
		struct identity id;

		if (!path)
			return err_set(e, ERR_INVALID, "--identity: bad value '%s'", all->v[i]);
		if (json_parse(all->v[i], (size_t)(path - all->v[i]), &doc, e) < 0 ||
		    identity_read_json(json_root(doc), "--identity", &id, e) < 0)
			return err_wrap(e, "--identity");
		if (s->image.kind == IMAGE_DIR)
			expect(&s->image.identity, &id, s->image.reference, path);
		for (size_t k = 0; k < s->n_mounts; k++)
			if (s->mount[k].kind == MOUNT_BIND || s->mount[k].kind == MOUNT_DISK)
				expect(&s->mount[k].identity, &id, s->mount[k].source, path);
	}
	return 0;
}

/* --- changes --------------------------------------------------------------------------------- */

/* Moves *M into S. If S has a mount with the same target, *M replaces that mount. */
static int put(struct spec *s, struct spec_mount *m, struct err *e)
{
	size_t i = 0;

	while (i < s->n_mounts && strcmp(s->mount[i].guest, m->guest) != 0)
		i++;
	if (i == SPEC_MOUNTS_MAX)
		return err_set(e, ERR_LIMIT, "--volume: more than %u mounts", SPEC_MOUNTS_MAX);
	if (i < s->n_mounts)
		spec_mount_done(&s->mount[i]);
	else
		LIST_ADD(s->mount, s->n_mounts);
	s->mount[i] = *m;
	*m = (struct spec_mount){ 0 };
	return 0;
}

int mounts_change(const struct args *a, const struct home *h, struct spec *s, struct err *e)
{
	const struct strv *asked = args_list(a, "volume");
	struct spec named; /* only the mounts of this spec are used */
	int r = 0;

	if (!asked->n)
		return 0;
	spec_init(&named);
	for (size_t i = 0; r == 0 && i < asked->n; i++)
		r = spec_add_mount(&named, MOUNT_FLAG_VOLUME, asked->v[i], e);
	if (r == 0)
		r = sources_hold_mounts(&named, h, e);
	for (size_t i = 0; r == 0 && i < named.n_mounts; i++)
		r = put(s, &named.mount[i], e);
	spec_done(&named);
	return r;
}
