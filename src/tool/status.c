#include "tool/status.h"

#include "base/cleanup.h"

#define NO_BACKEND "No supported sandbox backend (Docker / nsjail / E2B) is available"

static const char *transport_name(enum runtime_kind kind)
{
	static const char *const names[] = { [RUNTIME_LOCAL] = "local",
					     [RUNTIME_CHILD] = "stdio",
					     [RUNTIME_WEBSOCKET] = "websocket" };

	return names[kind];
}

static void write_places(const struct service_config *c, struct json_writer *w)
{
	json_key_str(w, "transport", transport_name(c->runtime.kind));
	json_key_bool(w, "shares_filesystem", c->runtime.shares_filesystem);
	json_key_str(w, "host_root", c->host_root);
	json_key_str(w, "default_workspace", c->default_workspace);
	json_key(w, "allowed_mount_roots");
	json_begin_array(w);
	for (size_t i = 0; i < c->roots.n; i++)
		json_str(w, c->roots.item[i]);
	json_end_array(w);
}

/* Writes why the backend is unavailable although the runtime answers. */
static void write_dead_backend(const struct service_config *c, const struct json_value *backend,
			       struct json_writer *w)
{
	const char *why = json_get_str(backend, "error", NULL);
	AUTO_FREE char *text = NULL;

	text = *c->backend ? xasprintf("Configured sandbox backend \"%s\" is unavailable%s%s",
				       c->backend, why ? ": " : "", why ? why : "")
			   : xasprintf(NO_BACKEND "%s%s", why ? ": " : "", why ? why : "");
	json_key_str(w, "connector_error", text);
}

/* Copies the members of the runtime's status, except members that we write ourselves. */
static void write_runtime(const struct json_value *status, struct json_writer *w)
{
	static const char *const ours[] = { "available",
					    "enabled",
					    "profile",
					    "recent_error_count",
					    "connector_error",
					    "transport",
					    "shares_filesystem",
					    "host_root",
					    "default_workspace",
					    "allowed_mount_roots",
					    "forced_session_template",
					    "box_scope_editable" };

	for (size_t i = 0; i < status->object.n; i++) {
		const struct json_member *m = &status->object.member[i];
		bool skip = strlen(m->key.p) != m->key.n; /* skip a key with a NUL in it */

		for (size_t k = 0; k < ARRAY_SIZE(ours); k++)
			skip |= str_eq(m->key, ours[k]);
		if (skip)
			continue;
		json_key(w, m->key.p);
		json_value_copy(w, &m->value);
	}
}

void status_write(const struct service_config *c, struct way *way, const struct fault *why,
		  size_t recent_errors, struct json_writer *w)
{
	AUTO_JSON doc = NULL;
	AUTO_FAULT failed = { 0 };
	const struct json_value *backend = NULL;
	bool works;

	if (way && way->row->status(way, &doc, &failed) == 0)
		backend = json_get(json_root(doc), "backend");
	works = json_get_bool(backend, "available", false);
	json_begin_object(w);
	json_key_bool(w, "available", works);
	json_key_bool(w, "enabled", c->enabled);
	json_key_str(w, "profile", c->profile->name);
	json_key_int(w, "recent_error_count", (int64_t)recent_errors);
	if (!doc)
		json_key_str(w, "connector_error", way ? failed.text : why->text);
	else if (!works)
		write_dead_backend(c, backend, w);
	if (doc)
		write_runtime(json_root(doc), w);
	write_places(c, w);
	json_key_str(w, "forced_session_template", c->forced_template);
	json_key_bool(w, "box_scope_editable", works && !c->forced_template);
	json_end_object(w);
}
