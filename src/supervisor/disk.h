/*
 * File systems in files, mounted through loop devices: disk volumes, disk images of the user's, and
 * the writable layer where it has a size and the host has nothing cheaper.
 *
 * Only a supervisor that may mount can do this. The payload never writes the blocks itself. The file is
 * locked for as long as the supervisor lives: one writer, or any number of readers. The loop device
 * clears itself when the mount goes.
 */
#pragma once

#include "supervisor/supervisor.h"

struct disk {
	const char *what; /* "disk volume 'x'": for messages */
	int source;       /* the file, open by O_PATH */
	bool readonly;
	bool ours;          /* mke2fs made it for us */
	const char *fstype; /* NULL: what its first blocks say */
};

/* Opens the file and locks it; it stays S's. */
MUST_USE int disk_lock(struct supervisor *s, const struct disk *d, int *ret_file, struct err *e);
/* A mount nobody else sees, of a FILE that is locked. */
MUST_USE int disk_mount(struct supervisor *s, const struct disk *d, int file, int *ret_fd,
			struct err *e);
/* … of the volume or image that M names. */
MUST_USE int disk_mount_volume(struct supervisor *s, struct spec_mount *m, int *ret_fd,
			       struct err *e);
/* Lets the files go; their mounts are gone by then. */
void disks_release(struct supervisor *s);
