/* Copying a package from the source into a store. */
#pragma once

#include "skills/store.h"

#define IMPORT_MAX_BYTES \
	(1ull << 30) /* of files and their names together; skills are documents and scripts */

/* Copies what is in the source into NAME, a directory of the store. Links that lead out of the source, and what is
 * neither file, directory nor link, are left out. Anything that cannot be read is an error. */
MUST_USE int import_tree(const struct store *s, const char *name, struct why *y);
