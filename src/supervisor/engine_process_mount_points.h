/*
 * Mount points that a directory of the user's lacks, an image or a volume. What we must add to it is
 * made by descriptor, noted, and removed when no sandbox uses it any more, only if it is still the same
 * and still empty. Sandboxes of one home share their notes of a directory: what one has made another
 * may be using when the first ends, since removing a mount point would unmount it there.
 */
#pragma once

#include "base/confine.h"
#include "base/err.h"
#include "spec/spec.h"
#include "state/home.h"

#define MOUNT_POINTS_NAME_BYTES 64

struct mount_points {
	int root;                           /* the directory, locked; or -1 */
	int notes;                          /* or -1 */
	char name[MOUNT_POINTS_NAME_BYTES]; /* of the notes, below the home */
};
#define MOUNT_POINTS_NONE ((struct mount_points){ .root = -1, .notes = -1 })

/* Nobody removes mount points of ours in the directory ROOT_FD until mount_points_leave(). What is left of sandboxes that were killed goes,
 * if no other is there. */
void mount_points_enter(const struct home *h, int root_fd, struct mount_points *ret);
/* Makes what is missing for SPEC below ROOT. The identities of its mounts are known. */
MUST_USE int mount_points_make(const struct mount_points *s, int root, const struct spec *spec,
			       struct err *e);
/* Makes PATH below ROOT, all that is missing of it, the last component a file unless IS_DIR. WHERE is what messages
 * call ROOT. */
MUST_USE int mount_points_make_one(const struct mount_points *s, int root, const char *path,
				   bool is_dir, const char *where, struct err *e);
bool mount_points_has(int root, const char *path);
/* True when a sandbox of the home has made, or is about to make, mount points in ROOT. */
bool mount_points_noted(const struct home *h, int root);
/* Adds to F what mount_points_leave() needs. */
MUST_USE int mount_points_confine(const struct mount_points *s, struct confine_files *f,
				  struct err *e);
/* Removes what killed sandboxes have left in ROOT, if no other uses it. */
void mount_points_reap(const struct home *h, int root);
/* The last one removes what all have made. Harmless when there is nothing. */
void mount_points_leave(const struct home *h, struct mount_points *s);
