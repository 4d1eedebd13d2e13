/*
 * The format number that every file of ours on disk carries. A file with a higher number was written by a newer
 * cordon and may mean something else: readers refuse it and leave it as it is.
 */
#pragma once

#include <stdbool.h>

#include "base/json.h"

#define RECORD_FORMAT 1 /* config.json, active.json and state.json of a sandbox */

/* Must be asked before anything else of V is read, because a newer format may give every other member another type.
 * A file without a number has the oldest format. */
static inline bool format_is_newer(const struct json_value *v, int64_t known)
{
	return json_get_int(v, "format", 0) > known;
}
