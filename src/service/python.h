/*
 * Functions of Python that the Box protocol relies on: how its peers trim, count, convert to numbers and print. Text here
 * is UTF-8 that base/json has checked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

/* str.isspace() of one character. */
bool python_is_space(uint32_t c);
/* str.isalnum() of one character: letters and digits of any script. */
bool python_is_alnum(uint32_t c);
/* str.strip(). Returns a slice of S. */
struct str python_trim(struct str s);
/* str.rstrip() */
struct str python_trim_end(struct str s);
/* Returns true if S holds a blank anywhere. */
bool python_has_space(struct str s);
/* len(): counts characters, not bytes. */
size_t python_length(struct str s);
/* s[:n]: returns a slice of at most N characters. */
struct str python_first(struct str s, size_t n);
/* Returns true if S consists of letters, digits, '-' and '_', or is empty. */
bool python_is_name(struct str s);

/* Convert a JSON value as the fields of a Python model do. Return 0, or -EINVAL for null, NaN, infinities, integers that
 * are too large and wrong types. */
MUST_USE int python_int(const struct json_value *v, int64_t *ret);
MUST_USE int python_float(const struct json_value *v, double *ret);
MUST_USE int python_bool(const struct json_value *v, bool *ret);

/* Append what str() prints for a value. */
void python_print_float(struct buf *b, double v);
void python_print_bool(struct buf *b, bool v);
