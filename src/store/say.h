/* What cordon-image shows to people. It goes to stderr; stdout carries data only. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* "   ✓ Verb         target (1.2s)": the time only beyond half a second; NOTE may be NULL and
 * replaces it. */
void say_done(const char *verb, const char *target, const char *note, uint64_t elapsed_ns);
/* "   ✗ Verb         target" */
void say_failed(const char *verb, const char *target);
void say_warning(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* "error: …" and its hint. Returns the exit status. */
int say_error(const struct err *e);
/* Writes data to stdout. A reader that closed the pipe is no error. */
MUST_USE int say_data(const struct buf *b, struct err *e);
