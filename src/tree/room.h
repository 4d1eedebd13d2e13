/*
 * How much of the host's file system a tree from inside may take. Nobody can say in advance how large
 * such a tree is: the sandbox itself sends it. So the copy ends before it takes the last of the
 * space that everybody on the host needs. A small copy is always let through: it could as well have
 * been made on a disk that is nearly full.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/statvfs.h>

#include "base/err.h"

#define ROOM_UNASKED_BYTES (64ull << 20) /* this much, and */
#define ROOM_UNASKED_ENTRIES 10000u      /* this many files may come without a look at the disk */
#define ROOM_STRIDE_BYTES (16ull << 20)  /* then the copy looks after so many bytes at the latest */
#define ROOM_STRIDE_LEAST_BYTES (256ull << 10) /* and no sooner than after these */
#define ROOM_STRIDE_ENTRIES 1000u              /* the same for files */
#define ROOM_LEFT_BYTES (1ull << 30)           /* must stay free, or 5 % if that is less */
#define ROOM_LEFT_PERCENT 5u                   /* also of the inodes, where they are counted */

struct room {
	uint64_t bytes, entries;           /* made so far */
	uint64_t look_bytes, look_entries; /* the next look is due when one of them is reached */
};

/* Counts what is about to be written to FD's file system. ERR_LIMIT when that leaves too little. */
MUST_USE int room_take(struct room *r, int fd, uint64_t bytes, unsigned entries, struct err *e);
/* Bytes that may still be written by this answer of fstatvfs(); 0: too little is left. */
uint64_t room_left(const struct statvfs *fs);
