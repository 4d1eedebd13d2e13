/* Deletes trees that hostile code filled: the one remover of the project. */
#pragma once

#include "base/err.h"

/*
 * Removes NAME below DIRFD and everything in it, by descriptor. NAME is relative. Follows no link, enters no mount
 * and stays below NAME even if somebody moves directories meanwhile. If something cannot be removed, goes on with
 * the rest and returns the first error as -errno. Returns 0 if NAME is gone, also if another removed it.
 */
MUST_USE int erase_tree(int dirfd, const char *name);
