/* Opens a file of a stack of layers before the layers are mounted. The result is the file that
 * an overlay of these layers would show. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Opens the regular file PATH below the directory LAYER and returns 1. Returns 0 if LAYER has no
 * such name. Returns -1 if LAYER hides the name (a whiteout), or if PATH is not a regular file. If
 * NAMED is true, a file `.wh.NAME` hides NAME. */
int layered_open_in(int layer, bool named, const char *path, struct stat *ret, int *ret_fd);
/* Opens PATH (without the leading slash) in the topmost of the N layers that has the name. LAYER
 * holds the descriptors of the layers, the lowest layer first; they may be O_PATH descriptors. A
 * link is followed only inside its own layer, which is enough for most images. Returns a descriptor
 * of a regular file, or -1. */
int layered_open(const int *layer, size_t n, bool named, const char *path, struct stat *ret);
