/*
 * The files of records and of named volumes have a format number. If this cordon does not know the
 * number of a file, a newer cordon wrote the file, and its contents may mean something else. Then
 * the code that reads the file refuses it and leaves it unchanged.
 */
#pragma once

#include <errno.h>
#include <stddef.h>

#include "base/json.h"

#define RECORD_FORMAT 1 /* config.json, active.json and state.json of a sandbox */

/* Returns 0 if this cordon knows the format of the file, -ENOTSUP if a newer cordon wrote the file,
 * and -EINVAL if the format is not an integer, because then the file is damaged. Call this function
 * before you read any other member of V, because a newer format may change the type of every
 * member. A file without a number has the oldest format. */
static inline int format_check(const struct json_value *v, int64_t known)
{
	const struct json_value *format = json_get(v, "format");

	if (!format)
		return 0;
	if (format->type != JSON_INT)
		return -EINVAL;
	return format->integer > known ? -ENOTSUP : 0;
}
