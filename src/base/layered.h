/* Opens files of a stack of layers as an overlay of these layers would show them, before anything is mounted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Returns 1 and the regular file PATH of the directory LAYER, 0 if LAYER does not have the name, and -1 if LAYER hides
 * the name or has another kind of file there. If NAMED, a file `.wh.NAME` hides NAME. */
int layered_open_in(int layer, bool named, const char *path, struct stat *ret, int *ret_fd);
/* Opens PATH (without the leading slash) in the topmost of the N layers that has the name. LAYER holds
 * descriptors, the lowest layer first; O_PATH is enough. A link is followed only inside its own layer, which suffices
 * for most images. Returns a descriptor of a regular file, or -1. */
int layered_open(const int *layer, size_t n, bool named, const char *path, struct stat *ret);
