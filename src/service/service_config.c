#include "service/service_config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "service/boxconfig.h"
#include "service/clip.h"
#include "service/host_path.h"
#include "service/python.h"
#include "service/session_template.h"
#include "spec/list.h"

#define WORKSPACE_ENTRIES_DEFAULT 100000
#define WORKSPACE_ENTRIES_MAX 1000000

static bool read_enabled(const struct json_value *box)
{
	static const char *const off[] = { "false", "0", "no", "off", "" };
	const struct json_value *v = json_get(box, "enabled");
	bool on = true;

	if (v && v->type == JSON_BOOL)
		return v->boolean;
	if (v && v->type == JSON_INT)
		return v->integer != 0;
	if (v && v->type == JSON_STRING) {
		struct str text = python_trim(v->string);

		for (size_t i = 0; i < ARRAY_SIZE(off); i++)
			on = on && !(text.n == strlen(off[i]) &&
				     strncasecmp(text.p, off[i], text.n) == 0);
	}
	return on;
}

/* Returns a trimmed text of SECTION, or an empty text. */
static struct str get_text(const struct json_value *section, const char *key)
{
	const struct json_value *v = section ? json_get(section, key) : NULL;

	return v && v->type == JSON_STRING ? python_trim(v->string) : STR("");
}

static int read_bounded(const struct json_value *section, const char *name, const char *key,
			int64_t fallback, int64_t min, int64_t max, int64_t *ret, struct fault *f)
{
	const struct json_value *v = section ? json_get(section, key) : NULL;

	*ret = fallback;
	if (!v || v->type == JSON_NULL)
		return 0;
	if (v->type == JSON_BOOL || python_int(v, ret) < 0 || *ret < min || *ret > max)
		return fault_set(f, FAULT_VALIDATION,
				 "%s.%s must be an integer between %lld and %lld", name, key,
				 (long long)min, (long long)max);
	return 0;
}

static void read_roots(struct service_config *c, const struct box_config *box)
{
	if (!box_config_list(box, "local", "allowed_mount_roots", &c->roots)) {
		if (!c->host_root)
			return;
		c->roots.item = xcalloc(1, sizeof(*c->roots.item));
		c->roots.item[c->roots.n++] = xstrdup(c->host_root);
		return;
	}
	for (size_t i = 0; i < c->roots.n; i++) {
		char *real = host_path_real(NULL, str_of(c->roots.item[i]));

		free(c->roots.item[i]);
		c->roots.item[i] = real;
	}
}

static void read_places(struct service_config *c, const struct box_config *box)
{
	struct str root = box_config_text(box, "local", "host_root"),
		   workspace = box_config_text(box, "local", "default_workspace");

	if (root.n)
		c->host_root = host_path_real(NULL, root);
	if (workspace.n)
		c->default_workspace = host_path_real(c->host_root, workspace);
	else if (c->host_root)
		c->default_workspace = host_path_real(c->host_root, STR("default"));
	read_roots(c, box);
}

static int read_box(struct service_config *c, const struct json_value *v, struct fault *f)
{
	const struct json_value *local = json_get(v, "local"), *limits = json_get(v, "limits");
	struct str profile = get_text(local, "profile"), image = get_text(local, "image");
	struct box_config box;
	int r;

	c->enabled = read_enabled(v);
	if (image.n)
		c->image = xstrndup(image.p, image.n);
	if (profile_find(profile.n ? profile : STR(PROFILE_DEFAULT), &c->profile, f) < 0 ||
	    read_bounded(local, "box.local", "workspace_quota_mb", -1, 0, MODEL_INT_MAX,
			 &c->workspace_quota_mb, f) < 0 ||
	    read_bounded(limits, "box.limits", "max_workspace_entries", WORKSPACE_ENTRIES_DEFAULT,
			 INT64_MIN, INT64_MAX, &c->max_workspace_entries, f) < 0)
		return -1;
	if (c->max_workspace_entries < 1)
		c->max_workspace_entries = 1;
	if (c->max_workspace_entries > WORKSPACE_ENTRIES_MAX)
		c->max_workspace_entries = WORKSPACE_ENTRIES_MAX;
	box_config_init(&box);
	r = box_config_merge(&box, v, f);
	if (r == 0)
		read_places(c, &box);
	box_config_done(&box);
	return r;
}

int service_config_read(const struct json_value *v, struct service_config *ret, struct fault *f)
{
	static const struct json_value none = { .type = JSON_OBJECT };
	const struct json_value *box = v ? json_get(v, "box") : NULL;
	const struct json_value *system = v ? json_get(v, "system") : NULL;
	struct str forced = get_text(system ? json_get(system, "limitation") : NULL,
				     "force_box_session_id_template");

	*ret = (struct service_config){ .enabled = true, .workspace_quota_mb = -1 };
	if ((v && v->type != JSON_OBJECT) ||
	    (box && box->type != JSON_NULL && box->type != JSON_OBJECT))
		return fault_set(f, FAULT_VALIDATION, "%s must be an object",
				 v->type != JSON_OBJECT ? "the configuration" : "box");
	if (read_box(ret, box && box->type == JSON_OBJECT ? box : &none, f) < 0 ||
	    read_bounded(v ? json_get(v, "service") : NULL, "service", "output_limit_chars",
			 CLIP_DEFAULT_CHARS, 0, SERVICE_OUTPUT_LIMIT_MAX_CHARS,
			 &ret->output_limit_chars, f) < 0 ||
	    session_template_check(forced, f) < 0) {
		service_config_done(ret);
		return -1;
	}
	if (forced.n)
		ret->forced_template = xstrndup(forced.p, forced.n);
	return 0;
}

void service_config_set_workspace(struct service_config *c, const char *path)
{
	free(c->default_workspace);
	c->default_workspace = xstrdup(path);
	c->roots.item = list_grow(c->roots.item, c->roots.n, sizeof(*c->roots.item));
	c->roots.item[c->roots.n++] = xstrdup(path);
}

void service_config_done(struct service_config *c)
{
	free(c->image);
	free(c->host_root);
	free(c->default_workspace);
	free(c->forced_template);
	model_texts_done(&c->roots);
	*c = (struct service_config){ 0 };
}
