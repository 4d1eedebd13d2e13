/*
 * How much disk space the parts of a home occupy, and what nothing needs any more: stopped sandboxes, volumes that no
 * sandbox names, and layers that belong to no image.
 *
 * An ordinary user cannot look into directories that only ids inside of a sandbox may read; those are not counted.
 */
#pragma once

#include "client/sandbox.h"
#include "spec/spec.h"

struct space {
	size_t n, n_used;
	uint64_t bytes, unused_bytes;
	struct strv unused;    /* names, for sandboxes and volumes */
	uint64_t *unused_each; /* bytes of each name */
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
