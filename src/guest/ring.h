/*
 * A ring keeps the last RING_BYTES of a command's output. The offset of a byte counts from the
 * first byte that the command wrote. Older bytes are dropped; the offset of the oldest byte that is
 * kept says how many were dropped. If standard output and standard error are two pipes, each byte
 * has a mark that says from which of the two pipes it came.
 *
 * These functions use no descriptor and no clock.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/background.h"

#define RING_BYTES BACKGROUND_OUTPUT_BYTES
static_assert((RING_BYTES & (RING_BYTES - 1)) == 0, "an offset finds its place by its low bits");

struct ring {
	char *p;             /* if NULL, no byte is kept, and all bytes count as dropped */
	unsigned char *mark; /* one bit for each byte; NULL if there is only one stream */
	uint64_t total;      /* bytes that were ever added */
};

/* Returns how many bytes of memory ring_open() takes. */
size_t ring_cost(bool marked);
/* Returns 0 or -ENOMEM. */
MUST_USE int ring_open(struct ring *r, bool marked);
void ring_done(struct ring *r);
void ring_add(struct ring *r, const char *p, size_t n, bool mark);
/* Returns the offset of the oldest byte that is kept, or r->total if no byte is kept. */
uint64_t ring_first(const struct ring *r);
/* Finds the longest piece that begins at the offset AT, is contiguous in memory, and whose bytes
 * all have the same mark. Returns the length of the piece, or 0 if AT is the end. AT must lie
 * between ring_first() and r->total. */
size_t ring_piece(const struct ring *r, uint64_t at, const char **ret, bool *ret_mark);
/* Copies up to N bytes from offset AT on. Returns how many it copied. */
size_t ring_copy(const struct ring *r, uint64_t at, char *out, size_t n);
