/* Files of an image as the sandbox will see them, before anything is mounted. */
#pragma once

#include <sys/stat.h>

#include "process/rootfs.h"

/* PATH (without the leading slash) as the overlay of the sandbox's own layer and all others would show
 * it: the topmost that knows the name decides. A link is followed inside its own layer only, which is
 * where images keep such links. A descriptor of a regular file, or -1. */
int image_file_open(const struct rootfs *r, const char *path, struct stat *ret);
