#include "tool/parameters.h"

#include <inttypes.h>

#include "service/python.h"

void parameters_init(struct parameters *p, const struct json_value *v, struct fault *f)
{
	*p = (struct parameters){ .v = v, .f = f };
	if (!v || v->type != JSON_OBJECT) {
		fault_set(f, FAULT_VALIDATION, "parameters must be an object");
		p->bad = true;
	}
}

int parameters_end(const struct parameters *p)
{
	return p->bad ? -1 : 0;
}

static const struct json_value *get(const struct parameters *p, const char *key)
{
	const struct json_value *v = p->bad ? NULL : json_get(p->v, key);

	return v && v->type != JSON_NULL ? v : NULL;
}

static void refuse(struct parameters *p, const char *key, const char *rule)
{
	if (!p->bad)
		fault_set(p->f, FAULT_VALIDATION, "%s %s", key, rule);
	p->bad = true;
}

struct str parameters_text(struct parameters *p, const char *key, const char *fallback)
{
	const struct json_value *v = get(p, key);

	if (v && v->type == JSON_STRING)
		return v->string;
	if (v)
		refuse(p, key, "must be a string");
	else if (!fallback)
		refuse(p, key, "is required");
	return str_of(fallback ? fallback : "");
}

struct str parameters_name(struct parameters *p, const char *key, const char *fallback)
{
	struct str s = parameters_text(p, key, fallback);

	if (s.n && memchr(s.p, '\0', s.n))
		refuse(p, key, "must not contain NUL characters");
	return s;
}

int64_t parameters_int(struct parameters *p, const char *key, int64_t fallback, int64_t min,
		       int64_t max)
{
	const struct json_value *v = get(p, key);
	int64_t n;

	if (!v)
		return fallback;
	if (python_int(v, &n) < 0) {
		refuse(p, key, "must be an integer");
		return fallback;
	}
	if (n < min) {
		if (!p->bad)
			fault_set(p->f, FAULT_VALIDATION, "%s must be at least %" PRId64, key, min);
		p->bad = true;
		return fallback;
	}
	return n < max ? n : max;
}

bool parameters_second(struct parameters *p, const char *key, const char *first, const char *second)
{
	struct str s = parameters_text(p, key, first);

	if (str_eq(s, second))
		return true;
	if (!str_eq(s, first) && !p->bad) {
		fault_set(p->f, FAULT_VALIDATION, "%s must be '%s' or '%s'", key, first, second);
		p->bad = true;
	}
	return false;
}
