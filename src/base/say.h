/*
 * What our programs tell people. stdout carries data only; messages go to stderr.
 *
 * A text may hold anything that a user, an image or a guest wrote. Control characters and broken UTF-8 appear as
 * \xNN, so that no message can drive the terminal. A line feed inside a message starts a "  → detail" line. A
 * write to a closed pipe must not kill the program: main() ignores SIGPIPE.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* -q: from now on there are no warnings, no progress and no ✓ lines. Errors stay. */
void say_set_quiet(bool quiet);
bool say_is_quiet(void);
/* From now on there is no colour, and a line feed inside a message appears as \x0a too. */
void say_set_plain(void);

/* "error: TEXT", then the hint as "  → HINT". Both return the exit status that belongs to the code. */
int say_error(const struct err *e);
int say_errorf(enum err_code code, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* "warn: TEXT" */
void say_warn(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* One sentence without a prefix: "No sandboxes found." */
void say_note(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* "  → TEXT" */
void say_hint(const char *text);

/* "   ✓ Verb         target (1.2s)"; the time appears only if it is more than 500 ms. */
void say_done(const char *verb, const char *target, uint64_t elapsed_ns);
/* "   ✓ Verb         target (WHY)": there was nothing to do. */
void say_already(const char *verb, const char *target, const char *why);
/* "   ✗ Verb         target" */
void say_failed(const char *verb, const char *target);

/* What `doctor` prints: "info Key: value", then "   ✓ Check        result". */
enum say_mark { SAY_GOOD, SAY_SOSO, SAY_BAD };
void say_info(const char *key, const char *fmt, ...) PRINTF_LIKE(2, 3);
void say_check(enum say_mark mark, const char *check, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* True if FD is a terminal and NO_COLOR is not set. */
bool say_in_colour(int fd);
/* Appends S to OUT, in the colour that the terminal code CODE names. If stderr has no colour
 * (say_in_colour()), appends S alone. */
void say_add_coloured(struct buf *out, const char *code, const char *s);
/* Writes B to stderr. Nobody can be told of a failure, so there is no result. */
void say_to_stderr(const struct buf *b);

/* Writes data to stdout. A reader that closed the pipe is no error. */
MUST_USE int say_data(const struct buf *b, struct err *e);
/* Does the same and reports an error itself. Returns the exit status. */
int say_output(const struct buf *b);
/* Writes one name and a line feed, in the same way. */
int say_name(const char *name);
