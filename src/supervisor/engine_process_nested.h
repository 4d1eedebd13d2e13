/*
 * Mount points in writable volumes, for the mounts that lie below them.
 *
 * A volume at /job and another at /job/a/x need a directory a/x in the source of the first. If the source has none, it
 * is made there as the owner of the source, and noted; the last sandbox that uses the source removes it, unless
 * somebody has put something in it meanwhile (engine_process_mount_points.h). Read-only volumes are never touched
 * (process/stub_layer.h), and file systems that nobody else sees, in memory or on a disk image, are left to the child.
 */
#pragma once

#include "base/confine.h"
#include "process/rootfs.h"
#include "supervisor/engine_process_mount_points.h"

/* The directories in which something was made, or left by an earlier sandbox. */
struct nested {
	struct mount_points *source; /* allocated, or NULL */
	size_t n;
};

/* The volumes of R are open. */
MUST_USE int nested_make(const struct home *h, const struct rootfs *r, struct nested *n,
			 struct err *e);
/* Adds to F what nested_leave() needs. */
MUST_USE int nested_confine(const struct nested *n, struct confine_files *f, struct err *e);
void nested_leave(const struct home *h, struct nested *n);
/* Removes what a killed sandbox with SPEC has left in its sources. */
void nested_reap(const struct home *h, struct spec *spec);
