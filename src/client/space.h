/*
 * Finds out how much disk space the parts of a home take, and what the user could remove: stopped
 * sandboxes, volumes that no sandbox mounts, and layers that belong to no image.
 *
 * Some directories belong to the user ids that a sandbox uses, and only these ids may read them. If
 * an ordinary user runs cordon, the files in such directories are not counted.
 */
#pragma once

#include "client/sandbox.h"
#include "spec/spec.h"

struct space {
	size_t n, n_used;
	uint64_t bytes, unused_bytes;
	/* names of stopped or crashed sandboxes, or of volumes that no sandbox mounts */
	struct strv unused;
	uint64_t *unused_each; /* the disk space of each name in `unused`, in bytes */
	size_t n_layers;       /* layers that belong to no image */
};
void space_done(struct space *s);

/*
 * Each function fills *RET for one kind of object: sandboxes, volumes, or images. ALL is the list
 * of all sandboxes.
 *
 * For images, `n_used` counts the images that a sandbox uses. `unused` stays empty: only layers
 * that belong to no image can be removed. `n_layers` is their number and `unused_bytes` is their
 * size.
 */
MUST_USE int space_sandboxes(const struct home *h, const struct sandbox_list *all,
			     struct space *ret, struct err *e);
MUST_USE int space_volumes(const struct home *h, const struct sandbox_list *all, struct space *ret,
			   struct err *e);
MUST_USE int space_images(const struct home *h, const struct sandbox_list *all, struct space *ret,
			  struct err *e);
