/*
 * Whole reads and writes, and files that appear complete or not at all.
 * Everything here is close-on-exec and retries EINTR.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* 0 or -errno. Waits also where FD does not: a caller may have made our output so. */
MUST_USE int io_write_all(int fd, const void *p, size_t n);
/* Exactly N bytes: 0, -errno, or -EPIPE when the stream ended early. */
MUST_USE int io_read_exact(int fd, void *p, size_t n);
/* read() until end of file into B: 0 or -errno; -EFBIG when B's ceiling is reached. */
MUST_USE int io_read_to_end(int fd, struct buf *b);
/* Opens, checks that it is a regular file, reads it whole. -errno as above. */
MUST_USE int io_read_file(int dirfd, const char *path, struct buf *b);
/* Writes DIRFD/PATH through a temporary name and rename, so readers see old or new. */
MUST_USE int io_replace_file(int dirfd, const char *path, const void *p, size_t n, mode_t mode);
/* Writes a short string to an existing control file (proc, cgroup) in one write. */
MUST_USE int io_write_file(int dirfd, const char *path, const char *s);
/* A descriptor of our own of what FD is, which does not wait: FD is others' too, and may not be told so. -1 where
 * there is none to be had. */
int io_reopen_nowait(int fd, int flags);
