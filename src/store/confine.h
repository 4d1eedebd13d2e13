/*
 * The walls around a worker, after its start and before its first hostile byte:
 *
 *   root         DIR_FD is its root directory, and `..` of READ_FD, where it is a directory, ends there
 *   files        Landlock: nothing can be opened but beneath DIR_FD, and beneath READ_FD, where it is
 *                a directory, for reading (kernels without it: openat2
 *                with RESOLVE_IN_ROOT in the code that uses the names is the only wall)
 *   privilege    only the capabilities that give files their owners, modes and attributes
 *   calls        an allow-list without sockets, processes, mounts or anything about them
 *   resources    memory, descriptors, no core files
 */
#pragma once

#include "base/err.h"

#define WORKER_MEMORY_MAX_BYTES (1ull << 30) /* zstd's largest usual window is 128 MiB */
#define WORKER_OPEN_FILES_MAX 64u

MUST_USE int confine(int dir_fd, int read_fd, struct err *e);
