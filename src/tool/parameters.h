/*
 * Reads the parameters that a model passes to a tool: an object with texts, numbers and words.
 *
 * The first bad parameter fills the fault. Every later read returns a default. So a tool need not
 * check each read: it reads all its parameters and then calls parameters_end() once. An optional
 * parameter may be null. Texts are borrowed from the JSON document.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "service/fault.h"

struct parameters {
	const struct json_value *v;
	struct fault *f;
	bool bad;
};

/* Starts to read V. If V is no object, parameters_end() fails. */
void parameters_init(struct parameters *p, const struct json_value *v, struct fault *f);
/* Returns 0, or -1 if a parameter was bad. */
MUST_USE int parameters_end(const struct parameters *p);

/* Reads a text. If the parameter is absent, its value is FALLBACK. If FALLBACK is NULL, an absent
 * parameter is a failure. */
struct str parameters_text(struct parameters *p, const char *key, const char *fallback);
/* Reads a text without NUL. */
struct str parameters_name(struct parameters *p, const char *key, const char *fallback);
/* Reads an integer of at least MIN. An integer above MAX becomes MAX. */
int64_t parameters_int(struct parameters *p, const char *key, int64_t fallback, int64_t min,
		       int64_t max);
/* Reads one of two words. FIRST is the default. Returns true for SECOND. */
bool parameters_second(struct parameters *p, const char *key, const char *first,
		       const char *second);
