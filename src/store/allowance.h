/*
 * What an image may still put on the disk: the sum over all its layers is bounded, however many there
 * are. Layers that are in the store already count as well: they are part of the image. Each worker is
 * told what is left when it starts, so workers that run side by side can together exceed the sum
 * before the parent notices; the parent then throws all their trees away.
 */
#pragma once

#include <assert.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "image/store.h"

#define IMAGE_ENTRIES_MAX (2u << 20) /* files, directories, links: twice what one layer may have */
#define IMAGE_NAMES_MAX_BYTES (512ull << 20) /* of their paths and link targets */
#define IMAGE_PLAIN_MAX_BYTES (256ull << 30) /* of the tars: twice what one layer may have */
static_assert(IMAGE_PLAIN_MAX_BYTES >> 30 == 256, "unpack.c says this number");

struct allowance {
	uint64_t entries, names, plain;
};

void allowance_init(struct allowance *a);
/* Each takes so much off, or says which limit of the image is reached: ERR_LIMIT. */
MUST_USE int allowance_take_entries(struct allowance *a, uint64_t n, struct err *e);
MUST_USE int allowance_take_names(struct allowance *a, uint64_t n, struct err *e);
MUST_USE int allowance_take_layer(struct allowance *a, const struct image_layer_info *i,
				  struct err *e);

/* As an argument of the worker: three numbers and a comma behind each. */
void allowance_write(const struct allowance *a, struct buf *out);
MUST_USE int allowance_read(const char *text, struct allowance *ret); /* -EINVAL */
