/*
 * The parameters of a tool, as a model writes them: an object with texts, numbers and words.
 *
 * A reader is sticky: the first bad parameter fills the fault, and every later read yields the default. So a tool reads all
 * its parameters and asks once, at the end. An optional parameter may be null. Texts are borrowed from the JSON document.
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

/* Starts to read V, which may be anything. */
void parameters_init(struct parameters *p, const struct json_value *v, struct fault *f);
/* Returns 0, or -1 if a parameter was bad. */
MUST_USE int parameters_end(const struct parameters *p);

/* Reads a text. FALLBACK is its value if it is absent; a parameter whose fallback is NULL must be there. */
struct str parameters_text(struct parameters *p, const char *key, const char *fallback);
/* Reads a text without NUL. */
struct str parameters_name(struct parameters *p, const char *key, const char *fallback);
/* Reads an integer of at least MIN. A larger one than MAX becomes MAX. */
int64_t parameters_int(struct parameters *p, const char *key, int64_t fallback, int64_t min,
		       int64_t max);
/* Reads one of two words; the first is the default. Returns true for the second. */
bool parameters_second(struct parameters *p, const char *key, const char *first,
		       const char *second);
