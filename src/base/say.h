/*
 * Messages of our programs to people. They go to stderr; stdout carries data only.
 *
 * A text may hold anything that a user, an image or a guest wrote. Control characters and broken
 * UTF-8 appear as \xNN, so that no message can control the terminal. A line feed inside a message
 * starts a "  → detail" line. main() ignores SIGPIPE, so that a write to a closed pipe does not
 * kill the program.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Turns off warnings, progress, and the lines with ✓, ! or ✗, for the option `-q`. Errors are still
 * printed. */
void say_set_quiet(bool quiet);
bool say_is_quiet(void);
/* Turns off colour. A line feed inside a message then appears as \x0a. */
void say_set_plain(void);

/* These functions print "error: TEXT", and then the hint, if there is one, as "  → HINT". They
 * return the exit status that belongs to the error code. */
int say_error(const struct err *e);
int say_errorf(enum err_code code, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Prints "warn: TEXT". */
void say_warn(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* Prints one sentence without a prefix: "No sandboxes found." */
void say_note(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* Prints a question and a space, without a line feed: "Remove all? [y/N] " */
void say_ask(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* Prints "  → TEXT". */
void say_hint(const char *text);

/* Prints "   ✓ Verb         target (1.2s)". The time appears only if it is more than 500 ms. */
void say_done(const char *verb, const char *target, uint64_t elapsed_ns);
/* Prints "   ✓ Verb         target (WHY)". The caller uses it when there was nothing to do. */
void say_already(const char *verb, const char *target, const char *why);
/* Prints "   ✗ Verb         target". */
void say_failed(const char *verb, const char *target);

/* These functions print lines of `doctor`: "info Key: value" and "   ✓ Check        result". */
enum say_mark { SAY_GOOD, SAY_SOSO, SAY_BAD };
void say_info(const char *key, const char *fmt, ...) PRINTF_LIKE(2, 3);
void say_check(enum say_mark mark, const char *check, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Returns true if FD is a terminal, unless NO_COLOR is set or say_set_plain() was called. */
bool say_in_colour(int fd);
/* Appends S to OUT, in the colour that the terminal code CODE names. If stderr has no colour
 * (say_in_colour()), appends S alone. */
void say_add_coloured(struct buf *out, const char *code, const char *s);
/* Writes B to stderr. Returns nothing, because a failure could not be reported anywhere. */
void say_to_stderr(const struct buf *b);

/* Writes data to stdout. It is no error if the reader of stdout has closed the pipe. */
MUST_USE int say_data(const struct buf *b, struct err *e);
/* Writes data to stdout. If this fails, prints the error. Returns the exit status. */
int say_output(const struct buf *b);
/* Writes one name and a line feed as say_output() does. */
int say_name(const char *name);
