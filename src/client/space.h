/*
 * Finds out how much disk space the parts of a home take, and what could be removed: stopped sandboxes, volumes that
 * no sandbox names, and layers that belong to no image.
 *
 * Some directories can be read only by ids of a sandbox. An ordinary user cannot look into these directories, so they
 * are not counted.
 */
#pragma once

#include "client/sandbox.h"
#include "spec/spec.h"

struct space {
	size_t n, n_used;
	uint64_t bytes, unused_bytes;
	struct strv unused;    /* names of sandboxes or volumes that are not used */
	uint64_t *unused_each; /* the disk space of each name in `unused`, in bytes */
	size_t n_layers;       /* layers that belong to no image */
};
void space_done(struct space *s);
#define AUTO_SPACE __attribute__((cleanup(space_done))) struct space

/* ALL is the list of all sandboxes. */
MUST_USE int space_sandboxes(const struct home *h, const struct sandbox_list *all,
			     struct space *ret, struct err *e);
MUST_USE int space_volumes(const struct home *h, const struct sandbox_list *all, struct space *ret,
			   struct err *e);
MUST_USE int space_images(const struct home *h, const struct sandbox_list *all, struct space *ret,
			  struct err *e);
