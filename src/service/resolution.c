#include "service/resolution.h"

#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "service/host_path.h"
#include "service/skill_mounts.h"

/* enough for a command of 1 MiB and 1024 mounts, all escaped */
#define PAYLOAD_MAX_BYTES (8u << 20)

/* The fields that the configuration or the profile fills if a call leaves them out. If the profile
 * locks a field, it fills the field in any case. */
static const char *const filled[] = {
	"image",     "network",    "timeout_sec",      "host_path_mode",    "cpus",
	"memory_mb", "pids_limit", "read_only_rootfs", "workspace_quota_mb"
};

static bool is_given(const struct json_value *payload, const char *field)
{
	const struct json_value *v = json_get(payload, field);

	return v && v->type != JSON_NULL;
}

static bool is_blank(const struct json_value *payload, const char *field)
{
	const struct json_value *v = json_get(payload, field);

	return !v || v->type == JSON_NULL || (v->type == JSON_STRING && v->string.n == 0);
}

/* Copies the fields of the call, except null fields and fields that the profile locks. If
 * timeout_sec is above the profile's maximum, writes the maximum instead. */
static void copy_given(const struct service_config *c, const struct json_value *payload,
		       struct json_writer *w)
{
	for (size_t i = 0; i < payload->object.n; i++) {
		const struct json_member *m = &payload->object.member[i];

		if (profile_locks(c->profile, m->key.p) || m->value.type == JSON_NULL)
			continue;
		json_key(w, m->key.p);
		if (str_eq(m->key, "timeout_sec"))
			profile_write_timeout(c->profile, &m->value, w);
		else
			json_value_copy(w, &m->value);
	}
}

/* Adds the fields that the call leaves out, and the fields that the profile locks. */
static void add_missing(const struct service_config *c, const struct json_value *payload,
			struct json_writer *w)
{
	if (is_blank(payload, "host_path") && c->default_workspace)
		json_key_str(w, "host_path", c->default_workspace);
	for (size_t i = 0; i < ARRAY_SIZE(filled); i++) {
		const char *field = filled[i];

		if (is_given(payload, field) && !profile_locks(c->profile, field))
			continue;
		if (profile_has(field)) {
			json_key(w, field);
			profile_write(c->profile, field, w);
		} else if (strcmp(field, "image") == 0 && c->image) {
			json_key_str(w, field, c->image);
		} else if (strcmp(field, "workspace_quota_mb") == 0 && c->workspace_quota_mb >= 0) {
			json_key_int(w, field, c->workspace_quota_mb);
		}
	}
}

static bool is_in_roots(const struct service_config *c, const char *real)
{
	for (size_t i = 0; i < c->roots.n; i++)
		if (box_path_inside(real, c->roots.item[i]))
			return true;
	return false;
}

static int outside_roots(const struct service_config *c, struct fault *f)
{
	AUTO_BUF roots = BUF_INIT(1u << 16);

	for (size_t i = 0; i < c->roots.n; i++)
		buf_addf(&roots, "%s%s", i ? ", " : "", c->roots.item[i]);
	return fault_set(f, FAULT_VALIDATION, "host_path is outside allowed_mount_roots: %s",
			 buf_str(&roots));
}

/* Checks the host_path of *S, and replaces it by its real path. The check only serves to give a
 * clear message: client/source_rules.h checks the path again when the directory is opened. */
static int check_host_path(const struct service_config *c, struct box_spec *s, struct fault *f)
{
	AUTO_FREE char *real = NULL;
	struct stat st;

	if (!s->host_path)
		return 0;
	real = host_path_real(NULL, str_of(s->host_path));
	if (c->runtime.shares_filesystem && (stat(real, &st) < 0 || !S_ISDIR(st.st_mode)))
		return fault_set(f, FAULT_VALIDATION,
				 "host_path must point to an existing directory on the host");
	if (c->roots.n == 0)
		return fault_set(
			f, FAULT_VALIDATION,
			"host_path mounting is disabled because no allowed_mount_roots are "
			"configured");
	if (!is_in_roots(c, real))
		return outside_roots(c, f);
	free(s->host_path);
	s->host_path = TAKE(real);
	return 0;
}

static int decode(const struct service_config *c, const struct buf *text, struct box_spec *ret,
		  struct fault *f)
{
	AUTO_JSON doc = NULL;
	struct err e;

	if (buf_failed(text) || json_parse(text->p, text->n, &doc, &e) < 0)
		return fault_set(f, FAULT_VALIDATION, "the call is too long");
	if (box_spec_decode(json_root(doc), ret, f) < 0)
		return -1;
	if (check_host_path(c, ret, f) < 0 || box_spec_check_targets(ret, f) < 0) {
		box_spec_done(ret);
		return -1;
	}
	return 0;
}

int resolve_payload(const struct service_config *c, const struct json_value *payload,
		    struct box_spec *ret, struct fault *f)
{
	AUTO_BUF text = BUF_INIT(PAYLOAD_MAX_BYTES);
	struct json_writer w;

	if (!payload || payload->type != JSON_OBJECT)
		return fault_set(f, FAULT_VALIDATION, "a BoxSpec must be an object");
	json_writer_init(&w, &text, 0);
	json_begin_object(&w);
	copy_given(c, payload, &w);
	add_missing(c, payload, &w);
	json_end_object(&w);
	return decode(c, &text, ret, f);
}

/* Copies the parameter KEY of a tool call under the name FIELD of a BoxSpec. */
static void copy_parameter(const struct json_value *from, const char *key, const char *field,
			   struct json_writer *w)
{
	const struct json_value *v = json_get(from, key);

	if (v && v->type != JSON_NULL) {
		json_key(w, field);
		json_value_copy(w, v);
	}
}

/* Resolves a call of a model. PARAMETERS are NULL for a call that runs no command. */
static int resolve_call(const struct service_config *c, const struct json_value *parameters,
			const struct query *q, const char *session, struct box_spec *ret,
			struct fault *f)
{
	AUTO_BUF text = BUF_INIT(PAYLOAD_MAX_BYTES), id = BUF_INIT(1u << 20);
	AUTO_JSON doc = NULL;
	struct json_writer w;
	struct err e;

	if (session && !c->forced_template)
		buf_add_str(&id, session);
	else if (query_session_id(q, str_of(c->forced_template ? c->forced_template : ""), &id, f) <
		 0)
		return -1;
	/* refuse an id that is too long: if it were cut off, it could be the id of another
	 * session */
	if (buf_failed(&id))
		return fault_set(f, FAULT_VALIDATION, "the session id is too long");
	json_writer_init(&w, &text, 0);
	json_begin_object(&w);
	json_key(&w, "session_id");
	json_strn(&w, buf_str(&id), id.n);
	copy_parameter(parameters, "command", "cmd", &w);
	copy_parameter(parameters, "workdir", "workdir", &w);
	copy_parameter(parameters, "timeout_sec", "timeout_sec", &w);
	copy_parameter(parameters, "env", "env", &w);
	json_key(&w, "extra_mounts");
	json_begin_array(&w);
	skill_mounts_write(c, q, &w);
	json_end_array(&w);
	json_end_object(&w);
	if (buf_failed(&text) || json_parse(text.p, text.n, &doc, &e) < 0)
		return fault_set(f, FAULT_VALIDATION, "the call is too long");
	return resolve_payload(c, json_root(doc), ret, f);
}

int resolve_session(const struct service_config *c, const struct query *q, const char *session,
		    struct box_spec *ret, struct fault *f)
{
	return resolve_call(c, NULL, q, session, ret, f);
}

int resolve_tool(const struct service_config *c, const struct json_value *parameters,
		 const struct query *q, const char *session, struct box_spec *ret, struct fault *f)
{
	if (!parameters || parameters->type != JSON_OBJECT)
		return fault_set(f, FAULT_VALIDATION, "parameters must be an object");
	if (!is_given(parameters, "command"))
		return fault_set(f, FAULT_VALIDATION, "command is required");
	if (resolve_call(c, parameters, q, session, ret, f) < 0)
		return -1;
	if (box_spec_check_command(ret, f) < 0) {
		box_spec_done(ret);
		return -1;
	}
	return 0;
}

char *resolve_own(const struct service_config *c, const char *host_path, bool skill)
{
	AUTO_FREE char *real = NULL;

	if (!c->runtime.shares_filesystem)
		return NULL;
	real = host_path_real(NULL, str_of(host_path));
	if (skill ? !c->skills_root || !box_path_inside(real, c->skills_root)
		  : !is_in_roots(c, real))
		return NULL;
	return TAKE(real);
}
