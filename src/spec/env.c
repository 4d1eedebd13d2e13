#include "spec/grammar.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "spec/bad.h"
#include "spec/list.h"

void spec_set_env(struct spec_env **list, size_t *n, const char *key, size_t n_key,
		  const char *value)
{
	struct spec_env *v;

	for (size_t i = 0; i < *n; i++) {
		v = &(*list)[i];
		if (strlen(v->key) == n_key && memcmp(v->key, key, n_key) == 0) {
			free(v->value);
			v->value = xstrdup(value);
			return;
		}
	}
	v = LIST_ADD(*list, *n);
	v->key = xstrndup(key, n_key);
	v->value = xstrdup(value);
}

int spec_add_env(struct spec_env **list, size_t *n, const char *flag, const char *value,
		 struct err *e)
{
	const char *eq = strchr(value, '=');
	const char *v;

	if (!*value || eq == value)
		return bad_value(e, flag, "variable", value, "the name is empty");
	if (eq) {
		spec_set_env(list, n, value, (size_t)(eq - value), eq + 1);
		return 0;
	}
	v = getenv(value);
	if (!v)
		return bad_value(e, flag, "variable", value,
				 "not set in your environment; write NAME=VALUE to give a value");
	spec_set_env(list, n, value, strlen(value), v);
	return 0;
}
