/*
 * Each file that cordon writes to disk has a format number. If this cordon does not know the
 * number, the file is from a newer cordon, and its contents may mean something else. Code that
 * reads such a file refuses it and leaves it unchanged.
 */
#pragma once

#include <stdbool.h>

#include "base/json.h"

#define RECORD_FORMAT 1 /* config.json, active.json and state.json of a sandbox */

/* Returns true if the file was written by a newer cordon. Call this function before you read any
 * other member of V, because a newer format may change the type of every member. A file without a
 * number has the oldest format. */
static inline bool format_is_newer(const struct json_value *v, int64_t known)
{
	return json_get_int(v, "format", 0) > known;
}
