/*
 * Implied directories. If the tar of a layer has entries below a directory, but no entry for the
 * directory itself, the layer only implies this directory. The owner and mode of such a directory
 * should come from a lower layer, but overlayfs shows the owner and mode of the topmost layer. When
 * a layer is unpacked, its implied directories get a mark (store.h). The most frequent implied
 * directory is the image's root.
 *
 * The search for the right owners looks into each layer for each directory. So it is done only
 * once, when an image comes into the store. The result is kept beside the image's topmost layer.
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
	/* the owner as it is on disk; if an ordinary user unpacked the layer, the user's own id
	 * stands for root */
	uint32_t uid, gid;
};

/* Writes the implied directories to OUT and returns their number. Each gets the owner and mode that
 * a lower layer has for it. Leaves out directories that no layer has an entry for, directories that
 * belong to root and have mode 0755, paths that are too long, and what exceeds IMAGE_IMPLIED_MAX.
 * The image's root is always treated as an implied directory. LAYER_FD may be O_PATH descriptors,
 * the lowest layer first. */
size_t image_implied_find(const int *layer_fd, size_t n_layers,
			  struct image_implied out[IMAGE_IMPLIED_MAX]);

/* The first function writes the path of the file that keeps the list, relative to the home. The
 * second function writes the content of this file. */
void image_implied_path(const struct image_record *r, char out[IMAGE_PATH_BYTES]);
void image_implied_write(const struct image_implied *p, size_t n, struct buf *out);
/* Returns the number of entries, or -EBADMSG. */
MUST_USE int image_implied_read(const char *p, size_t n,
				struct image_implied out[IMAGE_IMPLIED_MAX]);
