/*
 * Directories that a layer of an image only implies: its tar has entries below them but no entry
 * for them. Their owner and mode should come from a lower layer, but overlayfs shows owner and mode
 * of the topmost layer. Unpacking marks implied directories (store.h). The most frequent implied
 * directory is the image's root.
 *
 * The search looks into each layer for each directory, so it is done once, when an image comes into
 * the store. The result is kept beside the image's topmost layer.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "image/store.h"

#define IMAGE_IMPLIED_PATH_BYTES 256
#define IMAGE_IMPLIED_MAX 64 /* how many directories of one image are kept */
#define IMAGE_IMPLIED_MAX_BYTES (IMAGE_IMPLIED_MAX * (IMAGE_IMPLIED_PATH_BYTES + 32))

struct image_implied {
	char path[IMAGE_IMPLIED_PATH_BYTES];
	unsigned mode;
	uint32_t uid, gid; /* owner on disk, where the caller's id stands for root */
};

/* Lists implied directories, except those of root with mode 0755. LAYER_FD may be O_PATH
 * descriptors, the lowest layer first. */
size_t image_implied_find(const int *layer_fd, size_t n_layers,
			  struct image_implied out[IMAGE_IMPLIED_MAX]);

/* Write the path of the list's file, relative to HOME, and the content of the file. */
void image_implied_path(const struct image_record *r, char out[IMAGE_PATH_BYTES]);
void image_implied_write(const struct image_implied *p, size_t n, struct buf *out);
/* Returns the number of entries, or -EBADMSG. */
MUST_USE int image_implied_read(const char *p, size_t n,
				struct image_implied out[IMAGE_IMPLIED_MAX]);
