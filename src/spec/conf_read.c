#include "spec/conf_apply.h"

#include "base/cleanup.h"

int conf_refuse_unknown(const struct json_value *v, const char *path, const char *const *known,
			struct err *e)
{
	if (v->type != JSON_OBJECT)
		return err_set(e, ERR_INVALID, "%s%sexpected a map", path, *path ? ": " : "");
	for (size_t i = 0; i < v->object.n; i++) {
		AUTO_BUF list = BUF_INIT(1024);
		struct str key = v->object.member[i].key;

		if (word_index(known, key.p) >= 0)
			continue;
		for (size_t k = 0; known[k]; k++)
			buf_addf(&list, "%s%s", k ? ", " : "", known[k]);
		return err_set(e, ERR_INVALID, "%s%sunknown key '%.64s'; known keys are %s", path,
			       *path ? ": " : "", key.p, buf_str(&list));
	}
	return 0;
}

int conf_decode(const struct json_value *v, const char *path, const struct json_field *f, size_t n,
		void *out, struct err *e)
{
	AUTO_FREE const char **known = xcalloc(n + 1, sizeof(*known));

	for (size_t i = 0; i < n; i++)
		known[i] = f[i].key;
	if (conf_refuse_unknown(v, path, known, e) < 0)
		return -1;
	return json_decode(v, path, f, n, false, out, e);
}

const char *conf_text(const struct json_value *v, const char *path, struct err *e)
{
	if (v->type == JSON_STRING)
		return v->string.p;
	err_set(e, ERR_INVALID, "%s: expected a string; put it in quotes", path);
	return NULL;
}

int conf_texts(const struct json_value *v, const char *path, const char *prefix, struct strv *ret,
	       struct err *e)
{
	if (v->type != JSON_ARRAY)
		return err_set(e, ERR_INVALID, "%s: expected a list of strings", path);
	for (size_t i = 0; i < v->array.n; i++) {
		AUTO_FREE char *at = xasprintf("%s[%zu]", path, i);
		AUTO_FREE char *whole = NULL;
		const char *s = conf_text(&v->array.item[i], at, e);

		if (!s)
			return -1;
		whole = xasprintf("%s%s", prefix, s);
		strv_add(ret, whole);
	}
	return 0;
}

int conf_each(const struct json_value *v, const char *path, struct conf_target *a,
	      int (*one)(const struct json_value *, const char *, struct conf_target *,
			 struct err *),
	      struct err *e)
{
	if (v->type != JSON_ARRAY)
		return err_set(e, ERR_INVALID, "%s: expected a list", path);
	for (size_t i = 0; i < v->array.n; i++) {
		AUTO_FREE char *at = xasprintf("%s[%zu]", path, i);

		if (one(&v->array.item[i], at, a, e) < 0)
			return -1;
	}
	return 0;
}

int conf_not_yet(const char *what, struct err *e)
{
	return err_set(e, ERR_UNSUPPORTED, "%s is not supported yet", what);
}
