/*
 * Limits how much of the host's file system a tree from a sandbox may take. The sandbox itself
 * sends the tree, so its size is not known in advance. The copy stops before the disk is full,
 * because other programs need space. A small copy is always allowed, because the user could also
 * write that much to a nearly full disk without us.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/statvfs.h>

#include "base/err.h"

/* a copy up to these limits is not checked */
#define DISK_LIMIT_UNASKED_BYTES (64ull << 20)
#define DISK_LIMIT_UNASKED_ENTRIES 10000u
/* The free space is checked from time to time during the copy. The next check comes when the copy
 * has written half of the bytes that the last check found free to use. This half is limited to the
 * range from DISK_LIMIT_STRIDE_LEAST_BYTES to DISK_LIMIT_STRIDE_BYTES. The next check also comes
 * after DISK_LIMIT_STRIDE_ENTRIES more entries, if that is earlier. */
#define DISK_LIMIT_STRIDE_BYTES (16ull << 20)
#define DISK_LIMIT_STRIDE_LEAST_BYTES (256ull << 10)
#define DISK_LIMIT_STRIDE_ENTRIES 1000u
/* This much of a file system must stay free. Of the space: DISK_LIMIT_LEFT_BYTES or
 * DISK_LIMIT_LEFT_PERCENT, whichever is less. Of the inodes: DISK_LIMIT_LEFT_PERCENT, if the file
 * system counts inodes. */
#define DISK_LIMIT_LEFT_BYTES (1ull << 30)
#define DISK_LIMIT_LEFT_PERCENT 5u

struct disk_limit {
	uint64_t bytes, entries;           /* the copy so far */
	uint64_t look_bytes, look_entries; /* the next check comes when one of these is reached */
};

/* Counts bytes and entries before they are written to FD's file system. Fails with ERR_LIMIT if too
 * little space would stay free. */
MUST_USE int disk_limit_take(struct disk_limit *d, int fd, uint64_t bytes, unsigned entries,
			     struct err *e);
/* Returns how many bytes may still be written, according to FS, an answer of fstatvfs(). */
uint64_t disk_limit_left(const struct statvfs *fs);
