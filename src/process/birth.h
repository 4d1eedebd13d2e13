/* Makes processes in namespaces of their own: pid 1, and fuse-overlayfs if it serves a root. */
#pragma once

#include "process/process.h"

/* Gives the trees of the plan P the ids that MAPS asks for. WHOLE is a user namespace that maps
 * all ids of the sandbox. */
MUST_USE int birth_map_trees(const struct plan *p, const struct ids *ids, int whole,
			     const struct tree_map *maps, size_t n, struct err *e);
/* Prepares the memory of the child. The child will close PARENTS_END, make NAMESPACES and wait for a byte
 * on GO. */
void birth_prepare(struct process_instance *i, int parents_end, unsigned long namespaces, int go);
/* Clones the child, which carries out the steps of I->plan. */
MUST_USE int birth_clone(struct process_instance *i, struct err *e);
