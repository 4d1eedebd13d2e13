/* Makes processes that have their own namespaces: pid 1, and fuse-overlayfs if it serves the
 * root. */
#pragma once

#include "process/process.h"

/* Maps the ids of the trees in the plan *P as MAPS says. WHOLE is a descriptor of a user namespace
 * that maps all ids of the sandbox. */
MUST_USE int birth_map_trees(const struct plan *p, const struct ids *ids, int whole,
			     const struct tree_map *maps, size_t n, struct err *e);
/* Prepares the memory that the child will use. The child will close PARENTS_END, make the
 * namespaces in NAMESPACES (flags of clone) and wait for a byte from the descriptor GO. */
void birth_prepare(struct process_instance *i, int parents_end, unsigned long namespaces, int go);
/* Clones the child. The child carries out the steps of I->plan. */
MUST_USE int birth_clone(struct process_instance *i, struct err *e);
