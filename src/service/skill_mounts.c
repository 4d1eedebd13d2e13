#include "service/skill_mounts.h"

#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "service/boxspec.h"
#include "service/python.h"

/* Returns true if the query may use the skill NAME: the query's pipeline is bound to this skill, or
 * the pipeline has no list of bound skills. */
static bool is_visible(const struct query *q, struct str name)
{
	const struct json_value *v = q->v ? json_get(q->v, "variables") : NULL;

	v = v ? json_get(v, "_pipeline_bound_skills") : NULL;
	if (!v || v->type != JSON_ARRAY)
		return true;
	for (size_t i = 0; i < v->array.n; i++)
		if (v->array.item[i].type == JSON_STRING && v->array.item[i].string.n == name.n &&
		    memcmp(v->array.item[i].string.p, name.p, name.n) == 0)
			return true;
	return false;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool write_mount(const struct service_config *c, const struct query *q,
			const struct json_value *skill, struct json_writer *w)
{
	const char *name = json_get_str(skill, "name", ""), *root;
	AUTO_FREE char *place = NULL;

	root = json_get_str(skill, "package_root", "");
	if (!*name || strchr(name, '/') || !python_trim(str_of(root)).n ||
	    !is_visible(q, str_of(name)))
		return false;
	if (c->runtime.shares_filesystem && !is_directory(root)) {
		log_line(LOG_WARN, "skill '%s' is not mounted: package_root missing", name);
		return false;
	}
	place = xasprintf(SKILL_MOUNTS_PLACE "/%s", name);
	json_begin_object(w);
	json_key_str(w, "host_path", root);
	json_key_str(w, "mount_path", place);
	json_key_str(w, "mode", box_mode_name(BOX_MODE_RW));
	json_end_object(w);
	return true;
}

void skill_mounts_write(const struct service_config *c, const struct query *q,
			struct json_writer *w)
{
	size_t n = 0;

	if (!c->skills || c->skills->type != JSON_ARRAY)
		return;
	for (size_t i = 0; i < c->skills->array.n && n < BOX_MOUNTS_MAX; i++)
		n += write_mount(c, q, &c->skills->array.item[i], w);
}
