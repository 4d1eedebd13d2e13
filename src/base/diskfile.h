/* A file that holds a file system: sparse, so that it takes from the host what is written to it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct disk_make {
	uint64_t size_mib;
	uint64_t inodes;      /* 0: in proportion */
	unsigned journal_mib; /* 0: in proportion */
};

/* Makes NAME in DIR with an empty ext4 that root owns. PATH is the same file for mke2fs. What it
 * made is the caller's to remove when this fails. */
MUST_USE int disk_file_make(int dir, const char *name, const char *path, const struct disk_make *m,
			    struct err *e);
/* What is done to a file system before it grows. */
enum disk_check {
	DISK_CHECK,  /* small repairs, as after a crash; a lost+found is made where there is none */
	DISK_REPLAY, /* its journal is written back and nothing is looked at */
	DISK_REPAIR, /* whatever it takes: a growth was interrupted */
};
/* Makes the file FD, which is PATH, and its file system at least SIZE_MIB large; it is not mounted.
 * Whoever holds a lock on FD holds it until the programs that do this have ended, also when killed. */
MUST_USE int disk_file_grow(int fd, const char *path, uint64_t size_mib, enum disk_check how,
			    struct err *e);
/* … not larger than SIZE_MIB. ERR_LIMIT when what is in it does not fit, and the file is of no use. */
MUST_USE int disk_file_shrink(int fd, const char *path, uint64_t size_mib, struct err *e);
/* Makes TO, an empty file, one like FROM that can be written to on its own: by sharing blocks where
 * the file system can, or by copying what is not a hole. DISK_CLONE_SHARE fails
 * with ERR_UNSUPPORTED where it cannot. */
enum disk_clone { DISK_CLONE_AUTO, DISK_CLONE_COPY, DISK_CLONE_SHARE };
MUST_USE int disk_file_clone(int from, int to, enum disk_clone how, struct err *e);

#define DISK_DEVICE_BYTES 32
/* A loop device over FILE, by name and open: it lives as long as it is open or mounted. */
MUST_USE int disk_file_attach(int file, bool readonly, char path[DISK_DEVICE_BYTES], int *ret_fd,
			      struct err *e);
