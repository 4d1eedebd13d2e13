/* Opens files of an image as the sandbox will see them, before anything is mounted. */
#pragma once

#include <sys/stat.h>

#include "process/rootfs.h"

/* Opens PATH (without the leading slash) as the overlay of all layers would show it
 * (base/layered.h). Returns a descriptor of a regular file, or -1. */
int image_file_open(const struct rootfs *r, const char *path, struct stat *ret);
