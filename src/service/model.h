/*
 * Reads the members of a JSON object. In the Box protocol such an object is called a model, and its
 * members are called fields. Each field has a default and a rule. Values are converted in the same
 * way as in Python (service/python.h). The text of a fault says which field broke which rule.
 *
 * A struct model remembers the first failure. This failure fills the fault, and every later read
 * returns the default of its field. So a decoder can read all its fields and check for a failure
 * once, at the end. Texts are copies that the decoder owns. No text contains a NUL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "service/fault.h"

/* The largest integer of a field. A field may hold seconds or megabytes; converted to nanoseconds
 * or bytes, this number still fits into 64 bits. */
#define MODEL_INT_MAX INT32_MAX
#define MODEL_ENV_MAX 10000u    /* the most variables that model_env() accepts */
#define MODEL_TEXTS_MAX 100000u /* the most texts that model_texts() accepts */

struct model {
	const struct json_value *v; /* an object; NULL reads as an empty object */
	const char *inside; /* what messages put before a field's name: "", or "extra_mounts[3]." */
	enum fault_class class;
	struct fault *f;
	bool bad;
};

struct model_variable {
	char *name, *value;
};

struct model_env {
	size_t n;
	struct model_variable *item;
};

struct model_texts {
	size_t n;
	char **item;
};

void model_env_done(struct model_env *env);
void model_texts_done(struct model_texts *texts);

/* Notes the failure "FIELD RULE", unless the model has failed already. */
void model_fail(struct model *m, const char *field, const char *rule);
/* Returns the member, or NULL if it is absent or the model has failed. */
const struct json_value *model_get(const struct model *m, const char *field);

/* Returns a copy of the text. If TRIM is true, the copy is trimmed. If the member is absent,
 * returns a copy of FALLBACK. FALLBACK is NULL for a required field: then an absent member is a
 * failure, and the result is "". */
char *model_text(struct model *m, const char *field, const char *fallback, bool trim);
/* Works like model_text() for an optional field. Returns NULL if the member is null or absent. */
char *model_text_or_null(struct model *m, const char *field, bool trim);
/* Reads an integer of at least MIN and at most MODEL_INT_MAX. */
int64_t model_int(struct model *m, const char *field, int64_t fallback, int64_t min);
/* Reads a number greater than 0 and at most a million. */
double model_positive(struct model *m, const char *field, double fallback);
bool model_bool(struct model *m, const char *field, bool fallback);
/* Reads a text that must be one of the N words. Returns the index of the word. */
unsigned model_choice(struct model *m, const char *field, unsigned fallback,
		      const char *const *words, unsigned n);
/* Reads an object of texts. The names of its members must not be empty or contain '='. */
void model_env(struct model *m, const char *field, struct model_env *ret);
/* Reads a list of texts. */
void model_texts(struct model *m, const char *field, struct model_texts *ret);
/* Fails if the object has members that are not among the N names. */
void model_no_others(struct model *m, const char *const *names, size_t n);
