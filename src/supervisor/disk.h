/*
 * File systems in files, mounted through loop devices: disk volumes, disk images of the user, and
 * some writable layers. A writable layer is kept in such a file if the user asked for a size and
 * the host has no cheaper way to enforce this size.
 *
 * Only a supervisor that may mount can use such files. The payload sees only the mounted file
 * system: it can reach neither the file nor the loop device, and so cannot write single blocks. The
 * supervisor locks the file, either as the one writer or as one of any number of readers. The lock
 * is held until the supervisor has ended and the file system is unmounted. The kernel removes the
 * loop device when its file system is unmounted.
 */
#pragma once

#include "base/err.h"
#include "spec/spec.h"
#include "state/home.h"

struct disk {
	const char *what; /* "disk volume 'x'": for messages */
	int source;       /* the file, opened with O_PATH */
	bool readonly;
	bool ours; /* we made the file system ourselves, with mke2fs */
	/* not used if `ours` is true; otherwise NULL if magic bytes in the file show the type */
	const char *fstype;
};

/* The files that are locked for one sandbox. */
struct disks {
	bool may_mount;
	struct disk_hold *held;
};

/* Opens the file of D and locks the file. ALL owns the descriptor *RET_FILE. */
MUST_USE int disk_lock(struct disks *all, const struct disk *d, int *ret_file, struct err *e);
/* Mounts the locked FILE. *RET_FD becomes a descriptor of the mount, which is not attached to any
 * directory yet. */
MUST_USE int disk_mount(const struct disk *d, int file, int *ret_fd, struct err *e);
/* Locks and mounts the disk volume or the disk image that M describes, with disk_lock() and
 * disk_mount(). Disk volumes are looked up in the home H. */
MUST_USE int disk_mount_volume(struct disks *all, const struct home *h, struct spec_mount *m,
			       int *ret_fd, struct err *e);
/* Closes the files. The caller has unmounted their file systems before. */
void disks_release(struct disks *all);
