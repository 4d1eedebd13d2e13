/*
 * What people see: stdout carries data only, everything here goes to stderr except tables.
 *
 * Texts may hold anything a user or a guest wrote: control characters and broken UTF-8 are shown
 * as \xNN, so that no message can drive the terminal. A line feed inside a message starts a
 * "  → detail" line.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* -q: no warnings, no progress, no ✓ lines from now on. Errors stay, unless the command hides
 * them. */
void ui_set_quiet(bool quiet);

/* "error: TEXT" and "  → hint" lines. Returns the exit status that belongs to the code. */
int ui_error(const struct err *e);
int ui_errorf(enum err_code code, const char *fmt, ...) PRINTF_LIKE(2, 3);
void ui_warn(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* One sentence on stderr without a prefix: "No sandboxes found." */
void ui_note(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* "   ✓ Verb         target (1.2s)"; the time only beyond 500 ms. */
void ui_done(const char *verb, const char *target, uint64_t elapsed_ns);

/* What `doctor` prints: "info Key: value", then "   ✓ Check        result". */
enum ui_mark { UI_GOOD, UI_SOSO, UI_BAD };
void ui_info(const char *key, const char *fmt, ...) PRINTF_LIKE(2, 3);
void ui_check(enum ui_mark mark, const char *check, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* "  → TEXT" */
void ui_hint(const char *text);

/* A spinner with elapsed time on a TTY, nothing elsewhere; it leaves no trace. QUIET disables it.
 * It has no timer: a caller that waits calls ui_spin_tick() every UI_SPIN_MS while s->on. */
#define UI_SPIN_MS 100
struct ui_spin {
	bool on;
	uint64_t start_ns;
	const char *verb; /* borrowed, as is the target, until ui_spin_end() */
	const char *target;
};
void ui_spin_begin(struct ui_spin *s, bool quiet, const char *verb, const char *target);
void ui_spin_tick(void *spin); /* a struct ui_spin: fits struct launch's tick */
void ui_spin_end(struct ui_spin *s);

/* Columns padded to the widest cell, four spaces between, last column unpadded. Width counts
 * code points. Cells may be NULL (shown as "-"). */
struct ui_table {
	unsigned n_columns;
	struct buf cells; /* NUL-separated */
	unsigned n_cells;
};
void ui_table_init(struct ui_table *t, unsigned n_columns);
void ui_table_add(struct ui_table *t, const char *cell);
int ui_table_print(struct ui_table *t); /* to stdout as ui_write_stdout(); releases */
/* Cuts to WIDTH code points, ending in "..." when something was lost. */
void ui_cut(struct buf *out, const char *s, unsigned width);
bool ui_colour(int fd); /* TTY and NO_COLOR unset */
/* Writes B to stdout; a broken pipe is success (0), other errors are reported (1). */
int ui_write_stdout(const struct buf *b);
int ui_write_name(const char *name); /* and a newline, in the same way */
