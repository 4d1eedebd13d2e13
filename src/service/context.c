#include "service/context.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "service/model.h"
#include "service/python.h"

/* Reads an integer of at least 1. Returns FALLBACK if the field is absent, or if the integer or an
 * earlier field was bad. */
static uint64_t read_number(struct model *m, const char *field, uint64_t fallback)
{
	const struct json_value *v = model_get(m, field);
	int64_t n;

	if (!v)
		return fallback;
	if (python_int(v, &n) < 0)
		model_fail(m, field, "must be an integer");
	else if (n < 1)
		model_fail(m, field, "must be greater than 0");
	return m->bad ? fallback : (uint64_t)n;
}

/* Reads a text. Fails if the text is missing or blank. */
static char *read_id(struct model *m, const char *field)
{
	char *id = model_text(m, field, NULL, true);

	if (!*id)
		model_fail(m, field, "must not be empty");
	return id;
}

static bool is_digest(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!(s.p[i] >= '0' && s.p[i] <= '9') && !(s.p[i] >= 'a' && s.p[i] <= 'f'))
			return false;
	return s.n == 64;
}

/* The context of a plugin also has `runtime_revision`, `artifact_digest` and `installation_uuid`.
 * If one of the first two is given, all three must be given. */
static void check_plugin_members(struct model *m)
{
	AUTO_FREE char *digest = NULL;

	if (!model_get(m, "runtime_revision") && !model_get(m, "artifact_digest"))
		return;
	read_number(m, "runtime_revision", 0);
	digest = model_text(m, "artifact_digest", NULL, false);
	if (!is_digest(str_of(digest)))
		model_fail(m, "artifact_digest", "must be 64 lowercase hexadecimal digits");
	if (!model_get(m, "runtime_revision"))
		model_fail(m, "runtime_revision", "is required");
	if (!model_get(m, "installation_uuid"))
		model_fail(m, "installation_uuid", "is required");
}

static void check_installation(struct model *m)
{
	AUTO_FREE char *id = model_text_or_null(m, "installation_uuid", true);

	if (id && !*id)
		model_fail(m, "installation_uuid", "must not be empty");
}

int context_decode(const struct json_value *v, struct context *ret, struct fault *f)
{
	static const char *const known[] = { "instance_uuid",        "workspace_uuid",
					     "placement_generation", "installation_uuid",
					     "runtime_revision",     "artifact_digest" };
	struct model m = { .v = v, .inside = "context.", .class = FAULT_MODEL, .f = f };
	struct context c = { .given = true };

	*ret = (struct context){ 0 };
	if (!v || v->type == JSON_NULL)
		return 0;
	if (v->type != JSON_OBJECT)
		return fault_set(f, FAULT_MODEL, "context must be an object");
	c.instance = read_id(&m, "instance_uuid");
	c.workspace = read_id(&m, "workspace_uuid");
	c.generation = read_number(&m, "placement_generation", 1);
	check_installation(&m);
	check_plugin_members(&m);
	model_no_others(&m, known, ARRAY_SIZE(known));
	if (m.bad) {
		context_done(&c);
		return -1;
	}
	*ret = c;
	return 0;
}

void context_done(struct context *c)
{
	if (!c)
		return;
	free(c->instance);
	free(c->workspace);
	*c = (struct context){ 0 };
}

int context_missing(struct fault *f)
{
	return fault_set(f, FAULT_PERMISSION,
			 "Box tenant action requires a trusted Workspace context");
}

int context_check(const struct context *c, bool of_tenant, struct str trusted, struct tenant *ret,
		  struct fault *f)
{
	if (!c->given && of_tenant)
		return context_missing(f);
	if (c->given && !str_eq(trusted, c->instance))
		return fault_set(f, FAULT_PERMISSION,
				 "Box action context does not match the trusted instance");
	if (of_tenant)
		tenant_init(ret, str_of(c->instance), str_of(c->workspace), c->generation);
	return 0;
}
