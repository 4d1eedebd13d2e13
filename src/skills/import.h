/* Copies a package from the source into a store. */
#pragma once

#include "skills/store.h"

#define IMPORT_MAX_BYTES \
	(1ull            \
	 << 30) /* contents and names together; skills are documents and scripts, so this is plenty */

/* Copies the contents of the source (skills/store.h) into NAME, a directory of the store. Leaves out devices, sockets,
 * FIFOs, and links that lead out of the source. A file that cannot be read is an error. */
MUST_USE int import_tree(const struct store *s, const char *name, struct why *y);
