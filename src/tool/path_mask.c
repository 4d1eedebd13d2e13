#include "tool/path_mask.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "service/boxspec.h"
#include "service/skill_mounts.h"

#define HOST "[host]" /* stands for a directory that the sandbox does not have */
#define HOME "[home]"

struct hidden {
	const char *path; /* borrowed */
	char *shown;
};

struct hidden_list {
	size_t n;
	struct hidden *item;
};

static void hide(struct hidden_list *l, const char *path, const char *shown)
{
	if (!path || path[0] != '/' || !path[1])
		return;
	l->item = xreallocarray(l->item, l->n + 1, sizeof(*l->item));
	l->item[l->n++] = (struct hidden){ path, xstrdup(shown) };
}

static void hide_skills(struct hidden_list *l, const struct json_value *skills)
{
	for (size_t i = 0; skills && skills->type == JSON_ARRAY && i < skills->array.n; i++) {
		const struct json_value *v = &skills->array.item[i];
		AUTO_FREE char *shown =
			xasprintf(SKILL_MOUNTS_PLACE "/%s", json_get_str(v, "name", ""));

		hide(l, json_get_str(v, "package_root", NULL), shown);
	}
}

static int longest_first(const void *a, const void *b)
{
	size_t x = strlen(((const struct hidden *)a)->path);
	size_t y = strlen(((const struct hidden *)b)->path);

	return x < y ? 1 : x > y ? -1 : 0;
}

static void collect(const struct service_config *c, const char *config, struct hidden_list *l)
{
	hide(l, c->default_workspace, BOX_DEFAULT_PLACE);
	hide(l, c->skills_root, SKILL_MOUNTS_PLACE);
	hide_skills(l, c->skills);
	hide(l, config, "[configuration]");
	hide(l, c->host_root, HOST);
	for (size_t i = 0; i < c->roots.n; i++)
		hide(l, c->roots.item[i], HOST);
	hide(l, getenv("CORDON_HOME"), HOME);
	hide(l, getenv("MSB_HOME"), HOME);
	hide(l, getenv("HOME"), HOME);
	if (l->n)
		qsort(l->item, l->n, sizeof(*l->item), longest_first);
}

/* Returns true if C can be a part of a name. */
static bool continues_name(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '_' || c == '-' || (c & 0x80);
}

static const struct hidden *find(const struct hidden_list *l, struct str text)
{
	for (size_t i = 0; i < l->n; i++) {
		size_t n = strlen(l->item[i].path);

		if (text.n >= n && memcmp(text.p, l->item[i].path, n) == 0 &&
		    (text.n == n || !continues_name(text.p[n])))
			return &l->item[i];
	}
	return NULL;
}

void path_mask_write(const struct service_config *c, const char *config, struct str text,
		     struct buf *out)
{
	struct hidden_list l = { 0 };
	char before = ' ';

	collect(c, config, &l);
	while (text.n) {
		/* a slash behind a name does not begin a path */
		bool begins = text.p[0] == '/' && !continues_name(before);
		const struct hidden *x = begins ? find(&l, text) : NULL;
		size_t n = x ? strlen(x->path) : 1;

		if (x)
			buf_add_str(out, x->shown);
		else
			buf_add_char(out, text.p[0]);
		before = text.p[n - 1];
		text.p += n;
		text.n -= n;
	}
	while (l.n)
		free(l.item[--l.n].shown);
	free(l.item);
}
