/*
 * Reads fields of a request as leniently as peers expect. If a text is wanted, a number or `true`
 * becomes the text that Python prints for it, and `null`, `false` and the integer 0 become "".
 */
#pragma once

#include "base/json.h"
#include "skills/why.h"

/* An allocated text that may contain NULs. A further NUL follows the text. */
struct text {
	char *p;
	size_t n;
};

#define AUTO_TEXT __attribute__((cleanup(text_done))) struct text

void text_done(struct text *t);
static inline struct str text_str(const struct text *t)
{
	return (struct str){ t->p, t->n };
}

/* Reads the field KEY as a text. A missing field has the value FALLBACK. Fails for arrays and
 * objects. */
MUST_USE int field_text(const struct json_value *data, const char *key, const char *fallback,
			struct text *ret, struct why *y);
/* Works like field_text(), but if the field is missing, fails with the class WHY_KEY. */
MUST_USE int field_required(const struct json_value *data, const char *key, struct text *ret,
			    struct why *y);
/* Returns true if the field exists and Python counts its value as true. */
bool field_true(const struct json_value *data, const char *key);
/* Reads V, the value of the field KEY, as a text. */
MUST_USE int value_text(const struct json_value *v, const char *key, struct text *ret,
			struct why *y);
/* Reads the field KEY, which must be an object. */
MUST_USE int field_object(const struct json_value *data, const char *key,
			  const struct json_value **ret, struct why *y);
