/*
 * Functions that do the same as functions of Python. The peers of the Box protocol are written in
 * Python, so we must trim, count, convert and print values as Python does. All texts are UTF-8 that
 * base/json.h has checked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

/* Does the same as str.isspace() for one character. */
bool python_is_space(uint32_t c);
/* Does the same as str.isalnum() for one character: true for letters and digits of any script. */
bool python_is_alnum(uint32_t c);
/* Does the same as str.strip(). Returns a slice of S. */
struct str python_trim(struct str s);
/* Does the same as str.rstrip(). Returns a slice of S. */
struct str python_trim_end(struct str s);
/* Returns true if S holds a character for which python_is_space() returns true. */
bool python_has_space(struct str s);
/* Does the same as len(): counts characters, not bytes. */
size_t python_length(struct str s);
/* Does the same as s[:n]: returns a slice of at most N characters. */
struct str python_first(struct str s, size_t n);
/* Returns true if S consists of letters, digits, '-' and '_', or is empty. */
bool python_is_name(struct str s);

/* These functions convert a JSON value as the fields of a Python model do. They return 0, or
 * -EINVAL for null, NaN, an infinity, an integer that is too large, and every other value that has
 * no such conversion, for example 2.5 or "x" for an integer. */
MUST_USE int python_int(const struct json_value *v, int64_t *ret);
MUST_USE int python_float(const struct json_value *v, double *ret);
MUST_USE int python_bool(const struct json_value *v, bool *ret);

/* These functions append the text that str() makes of a value. */
void python_print_float(struct buf *b, double v);
void python_print_bool(struct buf *b, bool v);
