/*
 * The section `box` of LangBot's configuration. The server gets it from the environment and from
 * the action `box_init`.
 *
 * A configuration is one JSON object. A member of it that is an object is called a section here.
 * Each `box_init` replaces whole sections. Texts and values that the functions return are borrowed
 * and are valid until the next box_config_merge().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "service/fault.h"
#include "service/limits.h"
#include "service/model.h"

#define BOX_CONFIG_MAX_BYTES (1u << 20)
#define BOX_ROOTS_MAX 256u /* box_config_list() ignores further entries of a list */

struct box_config {
	struct json_doc *doc; /* NULL if the configuration is empty */
	struct box_limits limits;
};

void box_config_init(struct box_config *c);
void box_config_done(struct box_config *c);
void box_config_copy(const struct box_config *from, struct box_config *to);
/* Replaces the top-level members of *C by those of the object MORE. Members that MORE lacks stay.
 * Returns 0, or -1 with a FAULT_VALUE in *F. On failure *C is unchanged. */
MUST_USE int box_config_merge(struct box_config *c, const struct json_value *more, struct fault *f);

/* Returns the member KEY of a section, or NULL. SECTION "" means the configuration itself. */
const struct json_value *box_config_get(const struct box_config *c, const char *section,
					const char *key);
/* Returns the text of a member, trimmed, as a slice. The slice is empty if the member is absent,
 * blank or no text. */
struct str box_config_text(const struct box_config *c, const char *section, const char *key);
/* Returns the member as a boolean, as python_bool() reads it. Returns FALLBACK if the member is
 * absent or no boolean. */
bool box_config_flag(const struct box_config *c, const char *section, const char *key,
		     bool fallback);
/* Reads an integer from MIN to MAX. If the member is absent, *RET is FALLBACK. Returns 0, or -1
 * with a FAULT_VALUE in F. */
MUST_USE int box_config_int(const struct box_config *c, const char *section, const char *key,
			    int64_t fallback, int64_t min, int64_t max, int64_t *ret,
			    struct fault *f);
/* Reads a member that is a list of texts, or one text with entries that are separated by commas.
 * Entries are trimmed, and blank entries are left out. The caller frees *RET. If the member is
 * absent or null, returns false and *RET is empty. */
bool box_config_list(const struct box_config *c, const char *section, const char *key,
		     struct model_texts *ret);
