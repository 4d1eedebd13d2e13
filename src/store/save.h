/* Saves images to an archive: the classic format that every container engine loads, or an OCI
 * layout. */
#pragma once

#include <stddef.h>

#include "base/err.h"

enum save_format { SAVE_DOCKER, SAVE_OCI };

/* Writes the archive to FD, which may be a pipe. All data that is read from the store is checked
 * against its digest. */
MUST_USE int save_images(int home_fd, const char *const *references, size_t n,
			 enum save_format format, int fd, struct err *e);
