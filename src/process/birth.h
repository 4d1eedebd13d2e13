/* How a process in namespaces of its own is made: pid 1, and fuse-overlayfs where it serves a root. */
#pragma once

#include "process/process.h"

/* Gives the trees of the plan P the ids that MAPS asks for; WHOLE is a user namespace with all of the
 * sandbox's. */
MUST_USE int birth_map_trees(const struct plan *p, const struct ids *ids, int whole,
			     const struct tree_map *maps, size_t n, struct err *e);
/* What the child needs to be born: it closes PARENTS_END, makes NAMESPACES and waits for a byte on GO. */
void birth_prepare(struct process_instance *i, int parents_end, unsigned long namespaces, int go);
/* Clones the child that walks I->plan. */
MUST_USE int birth_clone(struct process_instance *i, struct err *e);
