#include "skills/field.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void text_done(struct text *t)
{
	free(t->p);
	*t = (struct text){ 0 };
}

static struct text copy(const char *p, size_t n)
{
	struct text t = { xmalloc(n + 1), n };

	if (n)
		memcpy(t.p, p, n);
	t.p[n] = '\0';
	return t;
}

static struct text copy_str(const char *s)
{
	return copy(s, strlen(s));
}

int value_text(const struct json_value *v, const char *key, struct text *ret, struct why *y)
{
	AUTO_BUF out = BUF_INIT(64);
	struct json_writer w;

	switch (v->type) {
	case JSON_STRING:
		*ret = copy(v->string.p, v->string.n);
		return 0;
	case JSON_NULL:
		*ret = copy_str("");
		return 0;
	case JSON_BOOL:
		*ret = copy_str(v->boolean ? "True" : "");
		return 0;
	case JSON_INT:
		if (v->integer)
			buf_addf(&out, "%" PRId64, v->integer);
		break;
	case JSON_DOUBLE:
		json_writer_init(&w, &out, 0);
		json_double(&w, v->number);
		break;
	default:
		return why_set(y, "%s must be a string", key);
	}
	*ret = copy(buf_str(&out), out.n);
	return 0;
}

int field_text(const struct json_value *data, const char *key, const char *fallback,
	       struct text *ret, struct why *y)
{
	const struct json_value *v = json_get(data, key);

	if (v)
		return value_text(v, key, ret, y);
	*ret = copy_str(fallback);
	return 0;
}

static int missing(const char *key, struct why *y)
{
	why_set(y, "'%s'", key);
	y->class = WHY_KEY;
	return -1;
}

int field_required(const struct json_value *data, const char *key, struct text *ret, struct why *y)
{
	const struct json_value *v = json_get(data, key);

	return v ? value_text(v, key, ret, y) : missing(key, y);
}

bool field_true(const struct json_value *data, const char *key)
{
	const struct json_value *v = json_get(data, key);

	if (!v)
		return false;
	switch (v->type) {
	case JSON_NULL:
		return false;
	case JSON_BOOL:
		return v->boolean;
	case JSON_INT:
		return v->integer != 0;
	case JSON_DOUBLE:
		return v->number != 0;
	case JSON_STRING:
		return v->string.n != 0;
	case JSON_ARRAY:
		return v->array.n != 0;
	default:
		return v->object.n != 0;
	}
}

int field_object(const struct json_value *data, const char *key, const struct json_value **ret,
		 struct why *y)
{
	const struct json_value *v = json_get(data, key);

	if (!v)
		return missing(key, y);
	if (v->type != JSON_OBJECT)
		return why_set(y, "%s must be an object", key);
	*ret = v;
	return 0;
}
