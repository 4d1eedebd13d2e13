/*
 * Mount points that a directory of the user lacks: a directory image, or a volume. What we must add to it is made by
 * descriptor, noted, and removed when no sandbox uses the directory any more, if it is still the same and still empty.
 * Sandboxes of one home share the notes about a directory: when the first one ends, another may use what it has made, and
 * removing a mount point would unmount it there.
 */
#pragma once

#include "base/confine.h"
#include "base/err.h"
#include "spec/spec.h"
#include "state/home.h"

#define MOUNT_POINTS_NAME_BYTES 64

struct mount_points {
	int root;                           /* the directory, locked; or -1 */
	int notes;                          /* open for appending; or -1 */
	char name[MOUNT_POINTS_NAME_BYTES]; /* path of the notes, below the home */
};
#define MOUNT_POINTS_NONE ((struct mount_points){ .root = -1, .notes = -1 })

/* From now on no other sandbox removes mount points in the directory ROOT_FD, until mount_points_leave(). If no
 * other sandbox uses the directory, this removes what killed ones have left. */
void mount_points_enter(const struct home *h, int root_fd, struct mount_points *ret);
/* Makes the mount points below ROOT that SPEC needs. The identities of its mounts are known. */
MUST_USE int mount_points_make(const struct mount_points *s, int root, const struct spec *spec,
			       struct err *e);
/* Makes every missing component of PATH below ROOT. The last one is a file unless IS_DIR. Messages call ROOT WHERE. */
MUST_USE int mount_points_make_one(const struct mount_points *s, int root, const char *path,
				   bool is_dir, const char *where, struct err *e);
bool mount_points_has(int root, const char *path);
/* True if a sandbox of the home has made, or is about to make, mount points in ROOT. */
bool mount_points_noted(const struct home *h, int root);
/* Adds to F the files that mount_points_leave() needs. */
MUST_USE int mount_points_confine(const struct mount_points *s, struct confine_files *f,
				  struct err *e);
/* Removes what killed sandboxes have left in ROOT, if no other sandbox uses it. */
void mount_points_reap(const struct home *h, int root);
/* If no other sandbox uses the directory, removes what all have made. Harmless if there is nothing. */
void mount_points_leave(const struct home *h, struct mount_points *s);
