/*
 * Reads the members of a JSON object as the fields of a Box model: with a default, with Python's
 * conversions (service/python.h), with a rule, and with a message that names the field and the rule.
 *
 * A reader is sticky: the first bad field fills the fault and every later read yields its default, so
 * that a decoder reads all its fields and asks once, at the end. Texts are copies which the decoder
 * owns; none of them holds a NUL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "service/fault.h"

#define MODEL_INT_MAX INT32_MAX /* so that seconds and megabytes can be multiplied out */
#define MODEL_ENV_MAX 10000u    /* variables; the kernel's argument space is full before */
#define MODEL_TEXTS_MAX 100000u /* arguments of one command */

struct model {
	const struct json_value *v; /* an object, or NULL, which has no members */
	const char *inside; /* in front of field names in messages: "", or "extra_mounts[3]." */
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

/* Fails the model with "FIELD RULE", unless it has failed already. */
void model_fail(struct model *m, const char *field, const char *rule);
/* NULL when the member is absent, or the model has failed. */
const struct json_value *model_get(const struct model *m, const char *field);

/* A copy of the text, without blanks around it if TRIM. FALLBACK is taken when the member is absent; NULL
 * means that it must be there. */
char *model_text(struct model *m, const char *field, const char *fallback, bool trim);
/* The same for a field that may be null or absent: NULL then. */
char *model_text_or_null(struct model *m, const char *field, bool trim);
/* An integer of at least MIN and at most MODEL_INT_MAX. */
int64_t model_int(struct model *m, const char *field, int64_t fallback, int64_t min);
/* A number greater than 0. */
double model_positive(struct model *m, const char *field, double fallback);
bool model_bool(struct model *m, const char *field, bool fallback);
/* One of N words, as its index. */
unsigned model_choice(struct model *m, const char *field, unsigned fallback,
		      const char *const *words, unsigned n);
/* An object of texts; names are not empty and hold no '='. */
void model_env(struct model *m, const char *field, struct model_env *ret);
/* A list of texts. */
void model_texts(struct model *m, const char *field, struct model_texts *ret);
/* Fails for members that are not among the N names. */
void model_no_others(struct model *m, const char *const *names, size_t n);
