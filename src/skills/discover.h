/* Finds packages in a tree: breadth first, names sorted, never below a package and never through a link. */
#pragma once

#include "skills/package.h"
#include "skills/why.h"

#define DISCOVER_PACKAGES_MAX 1000u
#define DISCOVER_ENTRIES_MAX 10000u /* in all searched directories together */

struct found {
	char *path;        /* relative to the directory DIR of discover(), "" for DIR itself */
	const char *entry; /* static */
};

struct discovery {
	struct found *found;
	size_t n, room;
};

#define AUTO_DISCOVERY __attribute__((cleanup(discovery_done))) struct discovery

void discovery_done(struct discovery *d);
/* Searches DIR and DEPTH levels of directories below it. Leaves out directories that cannot be read, and entries of DIR
 * itself for which SKIP returns true. SKIP may be NULL. */
MUST_USE int discover(int dir, unsigned depth, bool (*skip)(const char *name),
		      struct discovery *ret, struct why *y);
