/*
 * Makes the mount points that a directory of the user lacks. The directory is a directory image, or
 * a volume. The supervisor makes mount points by descriptor and writes a note about each. The last
 * sandbox that uses the directory removes the mount points that are still the same files and still
 * empty. Sandboxes of one home share the notes about a directory, because several sandboxes may use
 * one mount point. If one sandbox removed that mount point, the other sandboxes would lose their
 * mounts on it.
 *
 * Each sandbox that uses a directory holds a shared lock on the file of notes. A sandbox may remove
 * mount points only under the exclusive lock. The file is in the home, where no command can open
 * it. If the directory itself were locked, a command with this directory could lock it, too, and no
 * mount point would be removed any more.
 */
#pragma once

#include "base/confine.h"
#include "base/err.h"
#include "spec/spec.h"
#include "state/home.h"

#define MOUNT_POINTS_NAME_BYTES 64

/* In an image, links on the way to a mount point are followed. In a volume such links are refused.
 * Otherwise a sandbox that writes to the volume could make a link to a directory that it is not
 * allowed to change, and we would make the mount point there. */
enum mount_points_links { LINKS_FOLLOWED, LINKS_REFUSED };

struct mount_points {
	int root;                           /* the directory, or -1 */
	int notes;                          /* the file of notes, locked, for appending; or -1 */
	char name[MOUNT_POINTS_NAME_BYTES]; /* path of the notes, below the home */
	enum mount_points_links links;
	/* if a supervisor of an older build uses the directory: its file of notes, and the
	 * directory, locked; else -1 */
	int old_notes, old_lock;
};
#define MOUNT_POINTS_NONE \
	((struct mount_points){ .root = -1, .notes = -1, .old_notes = -1, .old_lock = -1 })

/* Keeps other sandboxes from removing mount points in the directory ROOT until
 * mount_points_leave(). If no other sandbox uses the directory, removes what killed sandboxes have
 * left. WHERE is the name of ROOT in messages. After a failure, mount_points_leave() releases what
 * *RET has. */
MUST_USE int mount_points_enter(const struct home *h, int root, enum mount_points_links links,
				const char *where, struct mount_points *ret, struct err *e);
/* Makes the mount points below ROOT that SPEC needs. The caller has looked up the identities of the
 * mounts of SPEC. */
MUST_USE int mount_points_make(const struct mount_points *s, int root, const struct spec *spec,
			       struct err *e);
/* Makes every missing component of PATH below ROOT. The last component is a file unless IS_DIR.
 * WHERE is the name of ROOT in messages. */
MUST_USE int mount_points_make_one(const struct mount_points *s, int root, const char *path,
				   bool is_dir, const char *where, struct err *e);
bool mount_points_has(int root, const char *path, enum mount_points_links links);
/* Returns true if a sandbox of the home has made, or is about to make, mount points in ROOT. */
bool mount_points_noted(const struct home *h, int root);
/* Adds to F the files that mount_points_leave() needs. */
MUST_USE int mount_points_confine(const struct mount_points *s, struct confine_files *f,
				  struct err *e);
/* Removes what killed sandboxes have left in ROOT, if no sandbox uses ROOT. */
void mount_points_reap(const struct home *h, int root, enum mount_points_links links);
/* Ends the use of the directory S->root. If no other sandbox uses the directory, removes the mount
 * points that all sandboxes have made there. */
void mount_points_leave(const struct home *h, struct mount_points *s);
