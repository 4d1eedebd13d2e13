/*
 * Makes session ids from templates such as `{launcher_type}_{launcher_id}`, by the rules of
 * Python's str.format_map().
 *
 * A name in braces is replaced by the variable of that name. `{{` and `}}` are literal braces. All
 * other features of Python's format strings are refused: conversions, format specifications,
 * attributes, indexes and positional fields.
 */
#pragma once

#include "base/buf.h"
#include "service/fault.h"

#define SESSION_TEMPLATE_DEFAULT "{launcher_type}_{launcher_id}"
#define SESSION_TEMPLATE_MAX_BYTES 4096u

/* Appends the value of the variable NAME to OUT. */
typedef void session_variable_fn(void *arg, struct str name, struct buf *out);

/* Fails with a FAULT_VALIDATION if TEXT is no valid template. */
MUST_USE int session_template_check(struct str text, struct fault *f);
/* Appends TEXT with its variables replaced. Fails like session_template_check(). */
MUST_USE int session_template_fill(struct str text, session_variable_fn *fn, void *arg,
				   struct buf *out, struct fault *f);
