/*
 * How much an image may still put on the disk. The limits hold for all layers of an image together,
 * including layers that are in the store already. Each worker gets the rest of the allowance when
 * it starts. So workers that run at the same time can together exceed a limit. The parent of the
 * workers notices this when they end, and removes their trees.
 */
#pragma once

#include <assert.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "image/store.h"

/* limit for files, directories and links; twice as many as one layer may have */
#define IMAGE_ENTRIES_MAX (2u << 20)
#define IMAGE_NAMES_MAX_BYTES (512ull << 20) /* length of all paths and link targets */
/* limit for the size of all tars of layers after decompression; twice as much as one layer may
 * have */
#define IMAGE_PLAIN_MAX_BYTES (256ull << 30)
static_assert(IMAGE_PLAIN_MAX_BYTES >> 30 == 256, "unpack.c prints this number");

struct allowance {
	uint64_t entries, names, plain;
};

void allowance_init(struct allowance *a);
/* Each function subtracts from the allowance, or fails with ERR_LIMIT and names the limit. */
MUST_USE int allowance_take_entries(struct allowance *a, uint64_t n, struct err *e);
MUST_USE int allowance_take_names(struct allowance *a, uint64_t n, struct err *e);
MUST_USE int allowance_take_layer(struct allowance *a, const struct image_layer_info *i,
				  struct err *e);

/* These functions write and read the allowance as an argument of a worker: three numbers, each
 * followed by a comma. allowance_read() returns 0 or -EINVAL. */
void allowance_write(const struct allowance *a, struct buf *out);
MUST_USE int allowance_read(const char *text, struct allowance *ret);
