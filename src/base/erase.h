/* Deletes trees that hostile code filled. */
#pragma once

#include "base/err.h"

/* Removes NAME below DIRFD and everything in it, by descriptor. Follows no link and crosses no
 * mount. Goes on after an error and returns the first one as -errno, or 0. */
MUST_USE int erase_tree(int dirfd, const char *name);
