/* Deletes trees that hostile code filled. All code of the project that removes trees uses these
 * functions. */
#pragma once

#include "base/err.h"

/*
 * Removes NAME below DIRFD and everything in it, by descriptor. NAME is relative. Follows no link,
 * enters no mount and stays below NAME even if a process moves directories meanwhile. If an entry
 * cannot be removed, goes on with the others and returns the first error as -errno. Returns 0 if NAME
 * is gone, even if another process removed it.
 */
MUST_USE int erase_tree(int dirfd, const char *name);

/*
 * Removes at most MAX entries of NAME, so that the call returns soon, however deep and wide the tree is. If a directory
 * in NAME is not empty, moves it to DIRFD, under a fresh name that begins with PREFIX. The caller finds it there and
 * removes it in the same way. So a call need not go deeper than one level, and if the caller is killed, the rest can
 * still be found in DIRFD. Returns 0 if NAME is gone, 1 if there is more to do, or -errno if an entry of NAME can be
 * neither removed nor moved.
 */
MUST_USE int erase_part(int dirfd, const char *name, const char *prefix, unsigned max);
