#include "service/model.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "service/python.h"

/* The largest value of a field such as cpus. A thousand times this value must fit into an
 * integer. */
#define POSITIVE_MAX 1000000.0

void model_env_done(struct model_env *env)
{
	for (size_t i = 0; i < env->n; i++) {
		free(env->item[i].name);
		free(env->item[i].value);
	}
	free(env->item);
	*env = (struct model_env){ 0 };
}

void model_texts_done(struct model_texts *texts)
{
	for (size_t i = 0; i < texts->n; i++)
		free(texts->item[i]);
	free(texts->item);
	*texts = (struct model_texts){ 0 };
}

void model_fail(struct model *m, const char *field, const char *rule)
{
	if (!m->bad)
		fault_set(m->f, m->class, "%s%s %s", m->inside, field, rule);
	m->bad = true;
}

const struct json_value *model_get(const struct model *m, const char *field)
{
	return m->bad ? NULL : json_get(m->v, field);
}

/* --- text ------------------------------------------------------------------------------------- */

/* Copies a value that must be text. Returns NULL after a failure. */
static char *copy_text(struct model *m, const char *field, const struct json_value *v, bool trim)
{
	struct str s;

	if (v->type != JSON_STRING) {
		model_fail(m, field, "must be a string");
		return NULL;
	}
	s = trim ? python_trim(v->string) : v->string;
	if (s.n && memchr(s.p, '\0', s.n)) {
		model_fail(m, field, "must not contain NUL characters");
		return NULL;
	}
	return xstrndup(s.p, s.n);
}

char *model_text(struct model *m, const char *field, const char *fallback, bool trim)
{
	const struct json_value *v = model_get(m, field);
	char *text = NULL;

	if (v)
		text = copy_text(m, field, v, trim);
	else if (!fallback)
		model_fail(m, field, "is required");
	return text ? text : xstrdup(fallback ? fallback : "");
}

char *model_text_or_null(struct model *m, const char *field, bool trim)
{
	const struct json_value *v = model_get(m, field);

	return !v || v->type == JSON_NULL ? NULL : copy_text(m, field, v, trim);
}

/* --- numbers and words ------------------------------------------------------------------------ */

int64_t model_int(struct model *m, const char *field, int64_t fallback, int64_t min)
{
	const struct json_value *v = model_get(m, field);
	char rule[64];
	int64_t n;

	if (!v)
		return fallback;
	if (python_int(v, &n) < 0) {
		model_fail(m, field, "must be an integer");
		return fallback;
	}
	if (n < min || n > MODEL_INT_MAX) {
		snprintf(rule, sizeof(rule), "must be %s than or equal to %" PRId64,
			 n < min ? "greater" : "less", n < min ? min : MODEL_INT_MAX);
		model_fail(m, field, min == 1 && n < 1 ? "must be greater than 0" : rule);
		return fallback;
	}
	return n;
}

double model_positive(struct model *m, const char *field, double fallback)
{
	const struct json_value *v = model_get(m, field);
	double n;

	if (!v)
		return fallback;
	if (python_float(v, &n) < 0)
		model_fail(m, field, "must be a number");
	else if (!(n > 0))
		model_fail(m, field, "must be greater than 0");
	else if (n > POSITIVE_MAX)
		model_fail(m, field, "must be less than or equal to 1000000");
	return m->bad ? fallback : n;
}

bool model_bool(struct model *m, const char *field, bool fallback)
{
	const struct json_value *v = model_get(m, field);
	bool b = fallback;

	if (v && python_bool(v, &b) < 0)
		model_fail(m, field, "must be a boolean");
	return b;
}

unsigned model_choice(struct model *m, const char *field, unsigned fallback,
		      const char *const *words, unsigned n)
{
	const struct json_value *v = model_get(m, field);
	AUTO_BUF rule = BUF_INIT(256);

	if (!v)
		return fallback;
	buf_add_str(&rule, "must be one of ");
	for (unsigned i = 0; i < n; i++) {
		if (v->type == JSON_STRING && str_eq(v->string, words[i]))
			return i;
		buf_addf(&rule, "%s%s", i ? ", " : "", words[i]);
	}
	model_fail(m, field, buf_str(&rule));
	return fallback;
}

/* --- containers ------------------------------------------------------------------------------- */

static bool is_variable_name(struct str s)
{
	return s.n && !memchr(s.p, '=', s.n) && !memchr(s.p, '\0', s.n);
}

void model_env(struct model *m, const char *field, struct model_env *ret)
{
	const struct json_value *v = model_get(m, field);

	*ret = (struct model_env){ 0 };
	if (!v)
		return;
	if (v->type != JSON_OBJECT) {
		model_fail(m, field, "must be an object of strings");
		return;
	}
	if (v->object.n > MODEL_ENV_MAX) {
		model_fail(m, field, "has too many entries");
		return;
	}
	ret->item = xcalloc(v->object.n + 1, sizeof(*ret->item));
	for (size_t i = 0; i < v->object.n && !m->bad; i++) {
		const struct json_member *one = &v->object.member[i];

		if (!is_variable_name(one->key))
			model_fail(m, field, "has a name that is empty or contains '=' or NUL");
		else if (one->value.type != JSON_STRING)
			model_fail(m, field, "must be an object of strings");
		else
			ret->item[ret->n++] = (struct model_variable){
				.name = xstrndup(one->key.p, one->key.n),
				.value = copy_text(m, field, &one->value, false),
			};
	}
}

void model_texts(struct model *m, const char *field, struct model_texts *ret)
{
	const struct json_value *v = model_get(m, field);

	*ret = (struct model_texts){ 0 };
	if (!v)
		return;
	if (v->type != JSON_ARRAY) {
		model_fail(m, field, "must be a list of strings");
		return;
	}
	if (v->array.n > MODEL_TEXTS_MAX) {
		model_fail(m, field, "has too many entries");
		return;
	}
	ret->item = xcalloc(v->array.n + 1, sizeof(*ret->item));
	for (size_t i = 0; i < v->array.n && !m->bad; i++) {
		if (v->array.item[i].type != JSON_STRING)
			model_fail(m, field, "must be a list of strings");
		else
			ret->item[ret->n++] = copy_text(m, field, &v->array.item[i], false);
	}
}

void model_no_others(struct model *m, const char *const *names, size_t n)
{
	for (size_t i = 0; m->v && !m->bad && i < m->v->object.n; i++) {
		struct str key = m->v->object.member[i].key;
		size_t k = 0;

		while (k < n && !str_eq(key, names[k]))
			k++;
		if (k == n) {
			fault_about(m->f, m->class, "unknown field '", key, "'");
			m->bad = true;
		}
	}
}
