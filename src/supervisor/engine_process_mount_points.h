/*
 * Mount points that a directory image lacks. The directory is the user's: what we must add to it is
 * made by descriptor, noted, and removed when no sandbox uses it any more, only if it is still the same
 * and still empty. Sandboxes of one home share their notes of a directory: what one has made another
 * may be using when the first ends, since removing a mount point would unmount it there.
 */
#pragma once

#include "base/err.h"
#include "spec/spec.h"
#include "state/home.h"

struct mount_points {
	int root;      /* the directory, locked; or -1 */
	int notes;     /* or -1 */
	char name[64]; /* of the notes, below the home */
};
#define MOUNT_POINTS_NONE ((struct mount_points){ .root = -1, .notes = -1 })

/* Nobody removes mount points of ours in the directory ROOT_FD until mount_points_leave(). What is left of sandboxes that were killed goes,
 * if no other is there. */
void mount_points_enter(const struct home *h, int root_fd, struct mount_points *ret);
/* Makes what is missing for SPEC below ROOT. The identities of its mounts are known. */
MUST_USE int mount_points_make(const struct mount_points *s, int root, const struct spec *spec,
			       struct err *e);
/* The last one removes what all have made. Harmless when there is nothing. */
void mount_points_leave(const struct home *h, struct mount_points *s);
