/*
 * The list of the last failed tool calls. The list is a file below CORDON_HOME, so that separate
 * programs share it. The file has one JSON object per line, oldest first.
 */
#pragma once

#include "base/json.h"
#include "service/fault.h"
#include "service/query.h"

#define ERRORS_MAX 50u

/* Adds a failure, and drops the oldest failures beyond ERRORS_MAX. If the file cannot be written,
 * only adds a line to the log. */
void errors_add(const struct fault *f, const struct query *q);
/* Writes all failures as items of an array. If W is NULL, writes nothing. Returns the number of
 * failures. */
size_t errors_write(struct json_writer *w);
