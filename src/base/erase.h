/* Deletes trees that hostile code filled: all code of the project that removes trees uses this
 * function. */
#pragma once

#include "base/err.h"

/*
 * Removes NAME below DIRFD and everything in it, by descriptor. NAME is relative. Follows no link,
 * enters no mount and stays below NAME even if somebody moves directories meanwhile. If something
 * cannot be removed, goes on with the rest and returns the first error as -errno. Returns 0 if NAME
 * is gone, even if another process removed it.
 */
MUST_USE int erase_tree(int dirfd, const char *name);

/*
 * Removes NAME in pieces, for callers that must be back soon, however deep and wide the tree is. A directory in
 * NAME that is not empty is moved out, to DIRFD, under a fresh name that begins with PREFIX: the caller finds it there
 * and removes it in the same way. So no tree gets deep, and a caller that is killed has lost nothing. At most MAX
 * entries go. Returns 0 if NAME is gone, 1 if there is more to do, or -errno if something in NAME can neither be
 * removed nor moved.
 */
MUST_USE int erase_part(int dirfd, const char *name, const char *prefix, unsigned max);
