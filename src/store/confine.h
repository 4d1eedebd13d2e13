/*
 * The restrictions of a worker. The worker restricts itself after its start, before it reads a
 * hostile byte. DIR_FD and READ_FD are the descriptors that the caller passes to confine():
 *
 *   root         DIR_FD is the worker's root directory; `..` cannot lead above READ_FD
 *   files        Landlock: the worker opens files beneath DIR_FD only and, if READ_FD is a
 *                directory, reads files beneath it. If the kernel has no Landlock, this restriction
 *                is missing. Then only openat2 with RESOLVE_IN_ROOT, by which the worker opens
 *                names from an archive, keeps the worker beneath DIR_FD.
 *   privilege    the worker keeps only the capabilities that set owners, modes and attributes,
 *                and CAP_DAC_OVERRIDE
 *   calls        a list of allowed calls without sockets, processes or mounts
 *   resources    limits on memory and descriptors, no core files
 */
#pragma once

#include "base/confine.h"

/* the limit for the worker's memory: enough for zstd, whose largest usual window has 128 MiB */
#define WORKER_MEMORY_MAX_BYTES (1ull << 30)
#define WORKER_OPEN_FILES_MAX 64u

/* made from tools/worker.table */
extern const struct sock_filter tree_filter[], treeless_filter[];
extern const unsigned short tree_filter_len, treeless_filter_len;

/* Restricts the calling process as described above. Returns 0 or -1. */
MUST_USE int confine(int dir_fd, int read_fd, struct err *e);
