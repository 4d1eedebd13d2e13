/*
 * File systems in files, mounted through loop devices: disk volumes, disk images of the user's, and
 * the writable layer where it has a size and the host has nothing cheaper.
 *
 * Only a supervisor that may mount can do this. The payload never writes the blocks itself. The file is
 * locked for as long as the supervisor lives: one writer, or any number of readers. The loop device
 * clears itself when the mount goes.
 */
#pragma once

#include "base/err.h"
#include "spec/spec.h"
#include "state/home.h"

struct disk {
	const char *what; /* "disk volume 'x'": for messages */
	int source;       /* the file, open by O_PATH */
	bool readonly;
	bool ours;          /* mke2fs made it for us */
	const char *fstype; /* NULL: what its first blocks say */
};

/* The files that are locked for one sandbox. */
struct disks {
	bool may_mount;
	struct disk_hold *held;
};

/* Opens the file and locks it; it belongs to ALL. */
MUST_USE int disk_lock(struct disks *all, const struct disk *d, int *ret_file, struct err *e);
/* A mount nobody else sees, of a FILE that is locked. */
MUST_USE int disk_mount(const struct disk *d, int file, int *ret_fd, struct err *e);
/* … of the volume in H or the image that M names. */
MUST_USE int disk_mount_volume(struct disks *all, const struct home *h, struct spec_mount *m,
			       int *ret_fd, struct err *e);
/* Lets the files go; their mounts are gone by then. */
void disks_release(struct disks *all);
