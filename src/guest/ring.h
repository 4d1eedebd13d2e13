/*
 * The last RING_BYTES of a command's output. The offset of a byte counts from the first byte that the command wrote.
 * Older bytes are dropped; the offset of the oldest kept byte says how many. Where standard output and standard error
 * are two pipes, each byte has a mark that says which of them it came from.
 *
 * Pure state: no descriptor, no clock.
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
	char *p;             /* NULL: nothing is kept, and everything counts as dropped */
	unsigned char *mark; /* one bit for each byte; NULL: there is only one stream */
	uint64_t total;      /* bytes that were ever added */
};

/* Bytes of memory that ring_open() takes. */
size_t ring_cost(bool marked);
/* Returns 0 or -ENOMEM. */
MUST_USE int ring_open(struct ring *r, bool marked);
void ring_done(struct ring *r);
void ring_add(struct ring *r, const char *p, size_t n, bool mark);
/* Returns the offset of the oldest byte that is kept, or r->total if no byte is kept. */
uint64_t ring_first(const struct ring *r);
/* Finds the longest piece from offset AT on that is contiguous in memory and whose bytes all have the same mark.
 * Returns its length, 0 at the end. AT lies between ring_first() and r->total. */
size_t ring_piece(const struct ring *r, uint64_t at, const char **ret, bool *ret_mark);
/* Copies up to N bytes from offset AT on. Returns how many it copied. */
size_t ring_copy(const struct ring *r, uint64_t at, char *out, size_t n);
