/*
 * The functions that read or write go on after EINTR until all bytes are done; only io_write_file()
 * makes a single write. io_replace_file() also makes sure that other processes never see a file
 * that is only partly written. Every descriptor that these functions open is close-on-exec.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* Writes all N bytes. Returns 0 or -errno. Waits even if FD is non-blocking, because the process
 * that started us may have made our standard output non-blocking. */
MUST_USE int io_write_all(int fd, const void *p, size_t n);
/* Reads exactly N bytes. Returns 0, -errno, or -EPIPE when the stream ended early. */
MUST_USE int io_read_exact(int fd, void *p, size_t n);
/* Reads until the end of file into B. Returns 0 or -errno; -EFBIG if B would exceed its
 * ceiling. */
MUST_USE int io_read_to_end(int fd, struct buf *b);
/* Opens PATH, checks that it is a regular file and reads it whole. Returns 0 or -errno; -EFBIG if B
 * would exceed its ceiling. */
MUST_USE int io_read_file(int dirfd, const char *path, struct buf *b);
/* Writes the N bytes at P to a temporary file and renames this file to DIRFD/PATH, so a reader sees
 * either the old file or the new file. Returns 0 or -errno. */
MUST_USE int io_replace_file(int dirfd, const char *path, const void *p, size_t n, mode_t mode);
/* Writes the short string S to an existing control file (proc, cgroup) in one write. Returns 0 or
 * -errno. */
MUST_USE int io_write_file(int dirfd, const char *path, const char *s);
/* Opens the file of FD again and returns the new, non-blocking descriptor. The flags of FD itself
 * stay unchanged, because other processes may share FD. Returns -1 if the file cannot be opened
 * again. */
int io_reopen_nowait(int fd, int flags);
