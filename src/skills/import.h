/* Copies a package from the source into a store. */
#pragma once

#include "skills/store.h"

#define IMPORT_MAX_BYTES (1ull << 30) /* of contents and names; skills are documents and scripts */

/* Copies the contents of the source into NAME, a directory of the store. Leaves out devices, sockets, FIFOs, and
 * links that lead out of the source. A file that cannot be read is an error. */
MUST_USE int import_tree(const struct store *s, const char *name, struct why *y);
