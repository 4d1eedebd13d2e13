/* A disk file: a file of the host that holds a file system. The file is sparse, so it takes only
 * as much of the host's disk as was written to the file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct disk_make {
	uint64_t size_mib;
	uint64_t inodes;      /* 0 if mke2fs chooses by the size of the disk */
	unsigned journal_mib; /* 0 if mke2fs chooses by the size of the disk */
};

/* Makes the file NAME in DIR, with an empty ext4 file system that root owns. PATH must be the
 * path of the same file, because mke2fs needs a path. After a failure, the caller removes the
 * file. */
MUST_USE int disk_file_make(int dir, const char *name, const char *path, const struct disk_make *m,
			    struct err *e);
/* What disk_file_grow() does to a file system before it makes the file system larger. */
enum disk_check {
	/* repairs the small damage that a crash leaves; makes lost+found if it is missing */
	DISK_CHECK,
	DISK_REPLAY, /* writes the journal back and checks nothing */
	DISK_REPAIR, /* repairs everything, because an earlier growth was interrupted */
};
/* Makes the file and its file system SIZE_MIB large. SIZE_MIB must not be smaller than the file
 * system is now. FD and PATH are the same file. The file system must not be mounted. The programs
 * that do the work inherit FD. A lock on FD is therefore held until these programs end, even if our
 * process is killed. */
MUST_USE int disk_file_grow(int fd, const char *path, uint64_t size_mib, enum disk_check how,
			    struct err *e);
/* Makes the file and its file system at most SIZE_MIB large. Fails with ERR_LIMIT if the contents
 * do not fit; the file is then unusable. */
MUST_USE int disk_file_shrink(int fd, const char *path, uint64_t size_mib, struct err *e);
/* Copies FROM to TO, an empty file. The two files are independent afterwards. The copy shares the
 * blocks of FROM if the file system can share blocks; otherwise everything except holes is copied.
 * DISK_CLONE_COPY always copies. If blocks cannot be shared, DISK_CLONE_SHARE fails with
 * ERR_UNSUPPORTED and copies nothing. */
enum disk_clone { DISK_CLONE_AUTO, DISK_CLONE_COPY, DISK_CLONE_SHARE };
MUST_USE int disk_file_clone(int from, int to, enum disk_clone how, struct err *e);

#define DISK_DEVICE_BYTES 32
/* Attaches FILE to a free loop device. Stores the device's path in PATH and an open descriptor of
 * the device in *RET_FD. FILE stays attached as long as the device is open or mounted. */
MUST_USE int disk_file_attach(int file, bool readonly, char path[DISK_DEVICE_BYTES], int *ret_fd,
			      struct err *e);
