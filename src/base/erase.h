/* Deletes directory trees, even if hostile code has filled them. All code of the project that
 * deletes trees uses these functions. */
#pragma once

#include "base/err.h"

/*
 * Removes NAME, a path relative to DIRFD, and everything in it. Reaches each entry through a
 * descriptor of its directory, not by a longer path. Follows no link, enters no mount and stays
 * below NAME even if a process moves directories meanwhile. If an entry cannot be removed, goes on
 * with the other entries and returns the first error as -errno. Returns 0 if NAME is gone, even if
 * another process removed it.
 */
MUST_USE int erase_tree(int dirfd, const char *name);

/*
 * Removes at most MAX entries of NAME, so that the call returns soon, however deep and wide the
 * tree is. If a directory in NAME is not empty, moves it to DIRFD, under a fresh name that begins
 * with PREFIX. The caller finds the moved directory in DIRFD and removes it in the same way. So a
 * call need not go deeper than one level. If the caller is killed, the rest of the tree can still
 * be found in DIRFD. Returns 0 if NAME is gone, 1 if there is more to do, or -errno if NAME cannot
 * be opened or removed, or if an entry of NAME can be neither removed nor moved.
 */
MUST_USE int erase_part(int dirfd, const char *name, const char *prefix, unsigned max);
