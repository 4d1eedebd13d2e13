/*
 * File systems in files, mounted through loop devices: disk volumes, disk images of the user, and
 * some writable layers. A writable layer is kept in such a file if the user asked for a size and
 * the host has no cheaper way to enforce this size.
 *
 * Only a supervisor that may mount can use such files. The payload never writes the blocks itself. The supervisor
 * keeps the file locked as long as the supervisor lives. The lock is for one writer, or for any number of readers.
 * The kernel removes the loop device when its file system is unmounted.
 */
#pragma once

#include "base/err.h"
#include "spec/spec.h"
#include "state/home.h"

struct disk {
	const char *what; /* "disk volume 'x'": for messages */
	int source;       /* the file, opened with O_PATH */
	bool readonly;
	bool ours;          /* we made the file system ourselves, with mke2fs */
	const char *fstype; /* NULL if the first blocks of the file show the type */
};

/* The files that are locked for one sandbox. */
struct disks {
	bool may_mount;
	struct disk_hold *held;
};

/* Opens the file and locks it. ALL owns RET_FILE. */
MUST_USE int disk_lock(struct disks *all, const struct disk *d, int *ret_file, struct err *e);
/* Mounts the locked FILE. The mount is not attached anywhere. */
MUST_USE int disk_mount(const struct disk *d, int file, int *ret_fd, struct err *e);
/* M names a disk volume in H, or a disk image. Locks and mounts it. */
MUST_USE int disk_mount_volume(struct disks *all, const struct home *h, struct spec_mount *m,
			       int *ret_fd, struct err *e);
/* Closes the files. The caller has unmounted their file systems before. */
void disks_release(struct disks *all);
