/* Reads the options that change the sandbox's own layer before the first boot: --copy SRC:DST,
 * --mkdir PATH, … */
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

int spec_put_patch(struct spec *s, const char *flag, const char *op, const char *source,
		   const char *path, struct err *e)
{
	AUTO_FREE char *absolute = NULL;
	AUTO_FREE char *guest = path_normalise(path);
	struct spec_patch *p;

	if (!guest || strcmp(guest, "/") == 0)
		return bad_value(e, flag, "path", path,
				 "the path in the sandbox must be absolute and not '/'");
	if (source && !*source)
		return bad_value(e, flag, "source", source, "it is empty");
	if (source && path_absolute(source, &absolute, e) < 0)
		return -1;
	p = LIST_ADD(s->patch, s->n_patches);
	p->op = xstrdup(op);
	p->name = absolute ? xstrdup(strrchr(absolute, '/') + 1) : NULL;
	p->source = TAKE(absolute);
	p->path = TAKE(guest);
	return 0;
}

int spec_add_patch(struct spec *s, const char *flag, const char *value, struct err *e)
{
	AUTO_FREE char *source = NULL;
	const char *colon = strstr(value, ":/");
	size_t k = 0;

	while (k < ARRAY_SIZE(kinds) - 1 && strcmp(kinds[k].flag, flag) != 0)
		k++;
	if (!kinds[k].has_source)
		return spec_put_patch(s, flag, kinds[k].op, NULL, value, e);
	if (!colon)
		return bad_value(e, flag, "patch", value,
				 "expected SOURCE:DESTINATION with an absolute destination");
	source = xstrndup(value, (size_t)(colon - value));
	return spec_put_patch(s, flag, kinds[k].op, source, colon + 1, e);
}
