#include "service/query.h"

#include <string.h>

#include "service/python.h"
#include "service/session_template.h"

#define UNKNOWN "unknown"

static bool is_scalar(const struct json_value *v)
{
	return v->type != JSON_ARRAY && v->type != JSON_OBJECT;
}

int query_read(const struct json_value *v, struct query *ret, struct fault *f)
{
	static const char *const texts[] = { "query_id", "launcher_type", "launcher_id",
					     "sender_id" };
	static const char *const objects[] = { "variables", "pipeline_config" };

	if (v && v->type != JSON_OBJECT)
		return fault_set(f, FAULT_VALIDATION, "query must be an object");
	for (size_t i = 0; v && i < sizeof(texts) / sizeof(*texts); i++) {
		const struct json_value *m = json_get(v, texts[i]);

		if (m && !is_scalar(m))
			return fault_set(f, FAULT_VALIDATION, "query.%s must be a text or a number",
					 texts[i]);
	}
	for (size_t i = 0; v && i < sizeof(objects) / sizeof(*objects); i++) {
		const struct json_value *m = json_get(v, objects[i]);

		if (m && m->type != JSON_NULL && m->type != JSON_OBJECT)
			return fault_set(f, FAULT_VALIDATION, "query.%s must be an object",
					 objects[i]);
	}
	ret->v = v;
	return 0;
}

/* Appends what str() of Python prints for V, which is no array and no object. */
static void print_scalar(const struct json_value *v, struct buf *out)
{
	switch (v->type) {
	case JSON_STRING:
		buf_add(out, v->string.p, v->string.n);
		break;
	case JSON_INT:
		buf_addf(out, "%lld", (long long)v->integer);
		break;
	case JSON_DOUBLE:
		python_print_float(out, v->number);
		break;
	case JSON_BOOL:
		python_print_bool(out, v->boolean);
		break;
	default:
		buf_add_str(out, "None");
	}
}

/* Appends the field KEY of the query. Returns false if the field is missing or null. */
static bool add_field(const struct query *q, const char *key, struct buf *out)
{
	const struct json_value *v = q->v ? json_get(q->v, key) : NULL;

	if (!v || v->type == JSON_NULL)
		return false;
	print_scalar(v, out);
	return true;
}

void query_id(const struct query *q, struct buf *out)
{
	if (!add_field(q, "query_id", out))
		buf_add_str(out, UNKNOWN);
}

static const struct json_value *find(const struct json_value *object, struct str name)
{
	for (size_t i = 0; object && object->type == JSON_OBJECT && i < object->object.n; i++) {
		struct str key = object->object.member[i].key;

		if (key.n == name.n && memcmp(key.p, name.p, name.n) == 0)
			return &object->object.member[i].value;
	}
	return NULL;
}

/* Appends the variable NAME of the query. If the variable is missing, or is an array or an object,
 * appends the field of this name. If there is no such field either, appends another field or a
 * fixed word. */
static void add_variable(void *arg, struct str name, struct buf *out)
{
	const struct query *q = arg;
	const struct json_value *v = find(q->v ? json_get(q->v, "variables") : NULL, name);

	if (v && is_scalar(v))
		print_scalar(v, out);
	else if (str_eq(name, "query_id"))
		query_id(q, out);
	else if (str_eq(name, "launcher_type")) {
		if (!add_field(q, "launcher_type", out))
			buf_add_str(out, "query");
	} else if (str_eq(name, "launcher_id")) {
		if (!add_field(q, "launcher_id", out))
			query_id(q, out);
	} else if (str_eq(name, "sender_id")) {
		if (!add_field(q, "sender_id", out) && !add_field(q, "launcher_id", out))
			query_id(q, out);
	} else if (str_eq(name, "global"))
		buf_add_str(out, "global");
	else
		buf_add_str(out, UNKNOWN);
}

/* Returns the template of the query's pipeline, or an empty text. */
static struct str pipeline_template(const struct query *q)
{
	const struct json_value *v = q->v ? json_get(q->v, "pipeline_config") : NULL;
	static const char *const way[] = { "ai", "local-agent", "box-session-id-template" };

	for (size_t i = 0; v && i < sizeof(way) / sizeof(*way); i++)
		v = json_get(v, way[i]);
	return v && v->type == JSON_STRING ? python_trim(v->string) : STR("");
}

int query_session_id(const struct query *q, struct str forced, struct buf *out, struct fault *f)
{
	struct str text = forced.n ? forced : pipeline_template(q);

	if (!text.n)
		text = STR(SESSION_TEMPLATE_DEFAULT);
	return session_template_fill(text, add_variable, (void *)q, out, f);
}
