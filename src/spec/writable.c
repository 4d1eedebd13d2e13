#include "spec/grammar.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "spec/bad.h"

/* Removes PATH and the directories below PATH from L. */
static void forget_below(struct strv *l, const char *path)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		if (path_below(path, l->v[i]))
			free(l->v[i]);
		else
			l->v[n++] = l->v[i];
	}
	l->n = n;
	if (l->v)
		l->v[n] = NULL;
}

int spec_add_writable(struct spec *s, const char *flag, const char *value, struct err *e)
{
	AUTO_FREE char *path = path_normalise(value);
	const char *reserved;

	if (!path)
		return bad_value(e, flag, "path", value, "it must be absolute");
	if (strlen(path) > SPEC_GUEST_PATH_MAX_BYTES)
		return bad_value(e, flag, "path", value, "longer than %u bytes",
				 SPEC_GUEST_PATH_MAX_BYTES);
	if (strcmp(path, "/") == 0)
		return bad_value(e, flag, "path", value, "leave --read-only out");
	reserved = path_reserved(path);
	if (reserved)
		return bad_value(e, flag, "path", value, "'%s' is the sandbox's own", reserved);
	if (path_below("/dev/shm", path))
		return 0; /* /dev/shm is always writable */
	for (size_t i = 0; i < s->writable.n; i++)
		if (path_below(s->writable.v[i], path))
			/* nothing to add: PATH is, or lies in, a directory that is already
			 * writable */
			return 0;
	forget_below(&s->writable, path);
	if (s->writable.n >= SPEC_WRITABLE_MAX)
		return err_set(e, ERR_LIMIT, "%s: more than %u places", flag, SPEC_WRITABLE_MAX);
	strv_add(&s->writable, path);
	return 0;
}

int spec_check_writable(const struct spec *s, struct err *e)
{
	if (s->read_only && s->n_patches)
		return err_set(
			e, ERR_INVALID,
			"--read-only: '%s' cannot be changed before the first start; mount a "
			"directory there",
			s->patch[0].path);
	for (size_t i = 0; i < s->writable.n; i++)
		for (size_t k = 0; k < s->n_mounts; k++)
			if (path_below(s->mount[k].guest, s->writable.v[i]))
				return err_set(
					e, ERR_INVALID,
					"--writable '%s': '%s' is a mount, which is writable "
					"or read-only by itself",
					s->writable.v[i], s->mount[k].guest);
	return 0;
}
