/*
 * Words of Python that the Box protocol is written in: what its peers trim, count, accept as a number
 * and print. Text here is UTF-8 that base/json has checked.
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
/* str.strip(): a slice of S. */
struct str python_trim(struct str s);
/* str.rstrip() */
struct str python_trim_end(struct str s);
/* True if S holds a blank anywhere. */
bool python_has_space(struct str s);
/* len(): characters, not bytes. */
size_t python_length(struct str s);
/* s[:n]: a slice of at most N characters. */
struct str python_first(struct str s, size_t n);
/* True for a name of letters, digits, '-' and '_'; also for "". */
bool python_is_name(struct str s);

/* What a model's field accepts in place of its type. 0 or -EINVAL. Null is never accepted. An integer
 * that does not fit, NaN and infinities are refused. */
MUST_USE int python_int(const struct json_value *v, int64_t *ret);
MUST_USE int python_float(const struct json_value *v, double *ret);
MUST_USE int python_bool(const struct json_value *v, bool *ret);

/* str() of a value. */
void python_print_float(struct buf *b, double v);
void python_print_bool(struct buf *b, bool v);
