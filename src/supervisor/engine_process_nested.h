/*
 * Mount points in writable volumes, for mounts that lie below such a volume.
 *
 * If one volume is at /job and another at /job/a/x, the source of the first volume needs a
 * directory a/x. If the source lacks this directory, the supervisor makes it with the ids of the
 * source's owner, and writes a note about it. The last sandbox that uses the source removes the
 * directory if it is empty (engine_process_mount_points.h). Read-only volumes are never changed
 * (process/stub_layer.h). If the first volume is a file system that only this sandbox sees (in
 * memory or on a disk image), the supervisor does not make the directory: the child that becomes
 * pid 1 makes it.
 */
#pragma once

#include "base/confine.h"
#include "process/rootfs.h"
#include "supervisor/engine_process_mount_points.h"

/* The sources for which this sandbox has called mount_points_enter(). */
struct nested {
	struct mount_points *source; /* allocated, or NULL */
	size_t n;
};

/* Makes the missing mount points. Fails if one of them is in our own state. The volumes of R must
 * be open, and own_state_find() must have looked for our own state in them. */
MUST_USE int nested_make(const struct home *h, const struct rootfs *r, struct nested *n,
			 struct err *e);
/* Adds to F the files that nested_leave() needs. */
MUST_USE int nested_confine(const struct nested *n, struct confine_files *f, struct err *e);
void nested_leave(const struct home *h, struct nested *n);
/* Removes the mount points that a killed sandbox with SPEC has left in its sources. */
void nested_reap(const struct home *h, struct spec *spec);
