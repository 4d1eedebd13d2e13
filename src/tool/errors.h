/*
 * The last failures of calls, in a file of the home, so that separate programs share the list. The file has one JSON
 * object per line, oldest first.
 */
#pragma once

#include "base/json.h"
#include "service/fault.h"
#include "service/query.h"

#define ERRORS_MAX 50u

/* Adds a failure, and drops the oldest beyond ERRORS_MAX. Only logs if that fails. */
void errors_add(const struct fault *f, const struct query *q);
/* Writes all failures as items of an array. Returns their number. */
size_t errors_write(struct json_writer *w);
