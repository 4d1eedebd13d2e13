/*
 * The `box` section of LangBot's configuration, as it comes from the environment and by box_init.
 *
 * A configuration is one JSON object. Each init puts its top-level keys over what is there; a section is
 * replaced as a whole. Texts and values that the functions return are borrowed and live until the next
 * merge.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "service/fault.h"
#include "service/limits.h"
#include "service/model.h"

#define BOX_CONFIG_MAX_BYTES (1u << 20)
#define BOX_ROOTS_MAX 256u /* directories below which mounts are allowed */

struct box_config {
	struct json_doc *doc; /* NULL: empty */
	struct box_limits limits;
};

void box_config_init(struct box_config *c);
void box_config_done(struct box_config *c);
/* Makes TO a copy of FROM. */
void box_config_copy(const struct box_config *from, struct box_config *to);
/* Puts the object MORE over C. 0, or -1 with a FAULT_VALUE, and C is as it was. */
MUST_USE int box_config_merge(struct box_config *c, const struct json_value *more, struct fault *f);

/* The section, or NULL; and a member of one. SECTION "" means the configuration itself. */
const struct json_value *box_config_get(const struct box_config *c, const char *section,
					const char *key);
/* A trimmed text, as a slice. Empty when it is absent, blank or no text. */
struct str box_config_text(const struct box_config *c, const char *section, const char *key);
/* A switch: false for false, 0, "0" and "false" in any case; FALLBACK when absent. */
bool box_config_flag(const struct box_config *c, const char *section, const char *key,
		     bool fallback);
/* An integer within bounds, or FALLBACK when absent. 0, or -1 with a FAULT_VALUE. */
MUST_USE int box_config_int(const struct box_config *c, const char *section, const char *key,
			    int64_t fallback, int64_t min, int64_t max, int64_t *ret,
			    struct fault *f);
/* A list of texts, or one text with commas; entries are trimmed, blank ones are left out. The caller
 * releases it. False when it is absent, and *RET is empty. */
bool box_config_list(const struct box_config *c, const char *section, const char *key,
		     struct model_texts *ret);
