/* A file that holds a file system: sparse, so that it takes from the host what is written to it. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* Makes NAME in DIR, of SIZE_MIB, with an empty ext4 that root owns. PATH is the same file for
 * mke2fs. What it made is the caller's to remove when this fails. */
MUST_USE int disk_file_make(int dir, const char *name, const char *path, uint64_t size_mib,
			    struct err *e);
/* Makes the file FD, which is PATH, and its file system at least SIZE_MIB large; it is not mounted.
 * Whoever holds a lock on FD holds it until the programs that do this have ended, also when killed. */
MUST_USE int disk_file_grow(int fd, const char *path, uint64_t size_mib, struct err *e);
