/*
 * Directories that a layer of an image only passes through, since its tar has no entry for them: owner
 * and mode are those of a layer below, but overlayfs shows those of the topmost. Unpacking has marked
 * them (store.h). The root of the image is the most usual one.
 *
 * To find them takes a look into each layer for each of them, so it is done when an image comes into the
 * store, and what was found lies beside its topmost layer.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "image/store.h"

#define IMAGE_PASSED_PATH_BYTES 256
#define IMAGE_PASSED_MAX 64 /* of one image */
#define IMAGE_PASSED_MAX_BYTES (IMAGE_PASSED_MAX * (IMAGE_PASSED_PATH_BYTES + 32))

struct image_passed {
	char path[IMAGE_PASSED_PATH_BYTES];
	unsigned mode;
	uint32_t uid, gid; /* on disk; root's are the caller's */
};

/* A list of those that are not simply root's with mode 0755. Layers may be O_PATH, the lowest first. */
size_t image_passed_find(const int *layer_fd, size_t n_layers,
			 struct image_passed out[IMAGE_PASSED_MAX]);

/* Where it is kept, relative to HOME, and its form there. */
void image_passed_path(const struct image_record *r, char out[IMAGE_PATH_BYTES]);
void image_passed_write(const struct image_passed *p, size_t n, struct buf *out);
/* The number of them, or -EBADMSG. */
MUST_USE int image_passed_read(const char *p, size_t n, struct image_passed out[IMAGE_PASSED_MAX]);
