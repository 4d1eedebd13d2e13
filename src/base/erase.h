/* Deleting trees that hostile code filled. */
#pragma once

#include "base/err.h"

/* Removes NAME below DIRFD and everything in it, by descriptor, never following a link, across no
 * mount. 0, or the first -errno; goes on after errors. */
MUST_USE int erase_tree(int dirfd, const char *name);
