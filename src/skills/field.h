/*
 * Fields of a request, with the leniency that peers are used to: where a text is wanted, numbers and booleans
 * are read as Python prints them, and null as "".
 */
#pragma once

#include "base/json.h"
#include "skills/why.h"

/* A text of its own, which may hold NULs; another NUL follows it. */
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

/* The text of the field KEY; FALLBACK if the field is missing. Fails for arrays and objects. */
MUST_USE int field_text(const struct json_value *data, const char *key, const char *fallback,
			struct text *ret, struct why *y);
/* The same for a field that must be there: a missing one is Python's KeyError. */
MUST_USE int field_required(const struct json_value *data, const char *key, struct text *ret,
			    struct why *y);
/* True if the field is there and Python would take it for true. */
bool field_true(const struct json_value *data, const char *key);
/* The text of one value. */
MUST_USE int value_text(const struct json_value *v, const char *key, struct text *ret,
			struct why *y);
/* The object that the field KEY must be. */
MUST_USE int field_object(const struct json_value *data, const char *key,
			  const struct json_value **ret, struct why *y);
