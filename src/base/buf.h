/*
 * A growing byte buffer with a ceiling.
 *
 * If a file or a peer decides how long some data is, we keep the data in such a buffer. The ceiling
 * is set when the buffer is initialised. If a buffer would grow beyond its ceiling, or gets no
 * memory, it fails and accepts no more bytes. So a caller can append without checks and call
 * buf_failed() at the end. A failed buffer keeps its earlier bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct buf {
	char *p;    /* NULL, or n bytes and a NUL behind them */
	size_t n;   /* bytes used */
	size_t cap; /* bytes allocated, without the terminator */
	size_t max; /* ceiling for n */
	bool failed;
	bool lent;   /* the caller owns p; do not free it */
	bool secret; /* overwrite memory before it is freed */
};

// clang-format off
#define BUF_INIT(ceiling) { .max = (ceiling) }
/* For passwords. The buffer leaves nothing in memory that it gives back, also when it grows. */
#define BUF_SECRET(ceiling) { .max = (ceiling), .secret = true }
/* The buffer keeps its contents in ARRAY until they no longer fit, and only then allocates memory.
 * ARRAY must outlive the buffer. */
#define BUF_IN(array, ceiling) \
	{ .p = ((array)[0] = '\0', (array)), .cap = sizeof(array) - 1, .max = (ceiling), .lent = true }
// clang-format on
#define AUTO_BUF __attribute__((cleanup(buf_done))) struct buf

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b);
void buf_clear(struct buf *b); /* empties B, also after a failure; keeps the memory */
static inline bool buf_failed(const struct buf *b)
{
	return b->failed;
}
/* Returns the contents as a C string; "" if B is empty. */
const char *buf_str(const struct buf *b);
/* Returns the contents as a C string (never NULL) that the caller frees. Leaves B empty. */
char *buf_take(struct buf *b);

/* Makes room for N more bytes and returns the address for these bytes, or NULL. After writing bytes
 * there, the caller increases b->n by their number. */
void *buf_room(struct buf *b, size_t n);
void buf_add(struct buf *b, const void *p, size_t n);
void buf_add_str(struct buf *b, const char *s);
void buf_add_char(struct buf *b, char c);
void buf_add_fill(struct buf *b, char c, size_t n);
void buf_addf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Appends S, quoted so that a shell reads it as one word. */
void buf_add_shell_word(struct buf *b, const char *s);
/* Appends S. A byte that could control a terminal, or could hide or reorder the text around it,
 * appears as \xNN. */
void buf_add_clean(struct buf *b, const char *s);
/* Does the same as buf_add_clean() for N bytes, which may hold NULs. The bytes listed in KEEP stay
 * unchanged, even if they are control characters. */
void buf_add_clean_n(struct buf *b, const char *p, size_t n, const char *keep);
/* Appends S, cut to WIDTH code points. A text that was cut ends in "...". */
void buf_add_cut(struct buf *b, const char *s, size_t width);
/* Appends N bytes as UTF-8. U+FFFD replaces each part that is not UTF-8, as in Python. */
void buf_add_utf8(struct buf *b, const char *p, size_t n);
/* Removes the first N bytes. */
void buf_drop(struct buf *b, size_t n);
/* Keeps the first N bytes; the buffer must hold at least N. */
void buf_cut(struct buf *b, size_t n);
