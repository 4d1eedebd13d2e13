/*
 * Disk volumes: the file system in a file, mounted through a loop device.
 *
 * Only a supervisor that may mount can do this; the file system is ours (mke2fs made it), its blocks
 * are never the payload's to write. The file is locked for as long as the supervisor lives: one
 * writer, or any number of readers. The loop device clears itself when the mount goes.
 */
#pragma once

#include "supervisor/supervisor.h"

/* A mount nobody else sees, of the volume that M names. */
MUST_USE int disk_mount(struct supervisor *s, const struct spec_mount *m, int *ret_fd,
			struct err *e);
/* Lets the files go; their mounts are gone by then. */
void disks_release(struct supervisor *s);
