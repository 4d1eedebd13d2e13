#include "spec/grammar.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "spec/bad.h"

int spec_add_label(struct spec *s, const char *value, struct err *e)
{
	static const char *const reserved[] = { "sandbox.", "microsandbox.", "service." };
	size_t n_key = strcspn(value, "=");

	if (n_key == 0)
		return bad_value(e, "--label", "label", value, "the key is empty");
	if (!utf8_valid(value, strlen(value)))
		return bad_value(e, "--label", "label", value, "not valid UTF-8");
	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
		if (starts_with(value, reserved[i]))
			return bad_value(e, "--label", "label", value,
					 "keys that start with '%s' are reserved", reserved[i]);
	spec_set_env(&s->label, &s->n_labels, value, n_key, value + n_key + (value[n_key] == '='));
	return 0;
}

bool spec_matches_label(const struct spec *s, const char *selector)
{
	size_t n_key = strcspn(selector, "=");
	const char *value = selector + n_key + (selector[n_key] == '=');

	for (size_t i = 0; i < s->n_labels; i++)
		if (strlen(s->label[i].key) == n_key &&
		    memcmp(s->label[i].key, selector, n_key) == 0 &&
		    strcmp(s->label[i].value, value) == 0)
			return true;
	return false;
}

bool spec_matches_labels(const struct spec *s, const struct strv *selectors)
{
	for (size_t i = 0; i < selectors->n; i++)
		if (!spec_matches_label(s, selectors->v[i]))
			return false;
	return true;
}
