#include "tool/skills.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "service/skill_mounts.h"

#define PREFIX SKILL_MOUNTS_PLACE "/"

bool skills_is_top(const char *shown)
{
	return strcmp(shown, SKILL_MOUNTS_PLACE) == 0;
}

struct str skills_name(const char *shown)
{
	struct str rest;

	if (!starts_with(shown, PREFIX))
		return STR("");
	rest = str_of(shown + strlen(PREFIX));
	return str_cut(&rest, '/');
}

/* Returns the name of the skill that M mounts, or NULL. */
static const char *mounted_skill(const struct box_mount *m)
{
	if (m->mode == BOX_MODE_NONE || !starts_with(m->mount_path, PREFIX))
		return NULL;
	return strchr(m->mount_path + strlen(PREFIX), '/') ? NULL : m->mount_path + strlen(PREFIX);
}

bool skills_is_visible(const struct box_spec *s, struct str name)
{
	for (size_t i = 0; i < s->extra_mounts.n; i++) {
		const char *x = mounted_skill(&s->extra_mounts.item[i]);

		if (x && str_eq(name, x))
			return true;
	}
	return false;
}

bool skills_is_activated(const struct query *q, struct str name)
{
	const struct json_value *v = q->v ? json_get(q->v, "variables") : NULL;

	v = v ? json_get(v, "_activated_skills") : NULL;
	for (size_t i = 0; v && v->type == JSON_OBJECT && i < v->object.n; i++)
		if (str_eq(name, v->object.member[i].key.p))
			return true;
	for (size_t i = 0; v && v->type == JSON_ARRAY && i < v->array.n; i++)
		if (v->array.item[i].type == JSON_STRING && str_eq(name, v->array.item[i].string.p))
			return true;
	return false;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void skills_list(const struct box_spec *s, struct skills_list *ret)
{
	ret->n = 0;
	ret->name = xcalloc(s->extra_mounts.n + 1, sizeof(*ret->name));
	for (size_t i = 0; i < s->extra_mounts.n; i++) {
		const char *x = mounted_skill(&s->extra_mounts.item[i]);

		if (x)
			ret->name[ret->n++] = x;
	}
	qsort(ret->name, ret->n, sizeof(*ret->name), by_name);
}

void skills_list_done(struct skills_list *l)
{
	free(l->name);
}
