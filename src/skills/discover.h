/* Finds packages in a tree. The search is breadth first, in the order of names. It never looks
 * below a package and never follows a link. */
#pragma once

#include "skills/package.h"
#include "skills/why.h"

#define DISCOVER_PACKAGES_MAX 1000u
#define DISCOVER_ENTRIES_MAX 10000u /* the limit for all searched directories together */

struct found {
	char *path;        /* relative to the directory DIR of discover(), "" for DIR itself */
	const char *entry; /* the name of the entry file (skills/package.h); static */
};

struct discovery {
	struct found *found;
	size_t n, room;
};

#define AUTO_DISCOVERY __attribute__((cleanup(discovery_done))) struct discovery

void discovery_done(struct discovery *d);
/* Searches DIR and DEPTH levels of directories below it. Leaves out directories that cannot be
 * read. Also leaves out the entries right in DIR for which SKIP returns true. SKIP may be NULL. */
MUST_USE int discover(int dir, unsigned depth, bool (*skip)(const char *name),
		      struct discovery *ret, struct why *y);
