/*
 * How much of the host's file system a tree from inside may take. The sandbox itself sends the
 * tree, so nobody knows its size in advance. The copy stops before it takes the last of the space
 * that everybody on the host needs. A small copy is always allowed: a user could have made it on a
 * nearly full disk anyway.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/statvfs.h>

#include "base/err.h"

#define ROOM_UNASKED_BYTES \
	(64ull << 20)               /* the copy does not look at the disk before so many bytes */
#define ROOM_UNASKED_ENTRIES 10000u /* or so many files */
#define ROOM_STRIDE_BYTES (16ull << 20) /* afterwards it looks again after so many bytes at most */
#define ROOM_STRIDE_LEAST_BYTES (256ull << 10) /* and after so many at least */
#define ROOM_STRIDE_ENTRIES 1000u              /* and after so many files */
#define ROOM_LEFT_BYTES \
	(1ull << 30) /* so much must stay free, or 5 % of the disk if that is less */
#define ROOM_LEFT_PERCENT \
	5u /* the same share of the inodes must stay free, if the file system counts them */

struct room {
	uint64_t bytes, entries; /* made so far */
	uint64_t look_bytes,
		look_entries; /* the copy looks at the disk again when one of them is reached */
};

/* Counts bytes and entries that are about to be written to FD's file system. Fails with ERR_LIMIT
 * when they would leave too little. */
MUST_USE int room_take(struct room *r, int fd, uint64_t bytes, unsigned entries, struct err *e);
/* Returns how many bytes may still be written, judged by this answer of fstatvfs(); 0: too little
 * is left. */
uint64_t room_left(const struct statvfs *fs);
