/* Copies a package from the source into a store. */
#pragma once

#include "skills/store.h"

/* limit for contents and names together; this is plenty, because skills are documents and
 * scripts */
#define IMPORT_MAX_BYTES (1ull << 30)

/* Copies the contents of the source (skills/store.h) into the directory NAME of the store. Leaves
 * out devices, sockets, FIFOs and links that lead out of the source. Fails if a file cannot be
 * read. */
MUST_USE int import_tree(const struct store *s, const char *name, struct why *y);
