/*
 * Each file that cordon writes to disk has a format number. A file with a number that this cordon does not know is
 * from a newer cordon, and its contents may mean something else. Readers refuse such a file and leave it unchanged.
 */
#pragma once

#include <stdbool.h>

#include "base/json.h"

#define RECORD_FORMAT 1 /* config.json, active.json and state.json of a sandbox */

/* Call this before reading any other member of V, because a newer format may change the type of every member. A file
 * without a number has the oldest format. */
static inline bool format_is_newer(const struct json_value *v, int64_t known)
{
	return json_get_int(v, "format", 0) > known;
}
