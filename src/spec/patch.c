/* Changes to the sandbox's own layer before its first boot: --copy SRC:DST, --mkdir PATH, … */
#include "spec/grammar.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "spec/bad.h"
#include "spec/list.h"

static const struct {
	const char *flag, *op;
	bool has_source;
} kinds[] = {
	{ "--copy", "copy", true },         { "--copy-file", "copy_file", true },
	{ "--copy-dir", "copy_dir", true }, { "--mkdir", "mkdir", false },
	{ "--rm", "remove", false },
};

int spec_add_patch(struct spec *s, const char *flag, const char *value, struct err *e)
{
	AUTO_FREE char *source = NULL;
	AUTO_FREE char *path = NULL;
	const char *dst = value;
	struct spec_patch *p;
	size_t k = 0;

	while (k < ARRAY_SIZE(kinds) - 1 && strcmp(kinds[k].flag, flag) != 0)
		k++;
	if (kinds[k].has_source) {
		AUTO_FREE char *given = NULL;
		const char *colon = strstr(value, ":/");

		if (!colon)
			return bad_value(
				e, flag, "patch", value,
				"expected SOURCE:DESTINATION with an absolute destination");
		if (colon == value)
			return bad_value(e, flag, "patch", value, "the source is empty");
		given = xstrndup(value, (size_t)(colon - value));
		if (path_absolute(given, &source, e) < 0)
			return -1;
		dst = colon + 1;
	}
	path = path_normalise(dst);
	if (!path || strcmp(path, "/") == 0)
		return bad_value(e, flag, "patch", value,
				 "the path in the sandbox must be absolute and not '/'");
	p = LIST_ADD(s->patch, s->n_patches);
	p->op = xstrdup(kinds[k].op);
	p->source = TAKE(source);
	p->path = TAKE(path);
	return 0;
}
