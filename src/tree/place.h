/*
 * The place where a tree goes: a directory, pinned by descriptor, and the name that the tree gets
 * there.
 *
 * The path is resolved once, in the same way as other programs resolve paths. Later operations are relative to the
 * descriptor and follow no link.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "wire/file.h"

struct tree_place {
	int dir;
	char name[FILE_NAME_MAX_BYTES +
		  1]; /* if empty, the contents go into the directory itself */
};

/* Finds the place by the rule of cp(1). A relative PATH begins at the directory AT, or at the working directory if AT
 * is AT_FDCWD. If PATH is a directory or ends in '/', the tree goes into that directory as
 * NAME, and a missing directory is made. Otherwise the tree goes to PATH. If EXACT is set, the tree always goes to
 * PATH. NAME may be empty. */
MUST_USE int tree_place(int at, const char *path, const char *name, bool exact,
			struct tree_place *ret, struct err *e);
/* Works like tree_place(), but PATH begins at the root. Stays below the root, crosses no mount and makes missing directories
 * on the way. Links are resolved within the root. */
MUST_USE int tree_place_own(const char *path, const char *name, bool exact, struct tree_place *ret,
			    struct err *e);
/* Makes the directory PATH and its missing parents, below the root and across no mount. */
MUST_USE int tree_make_own(const char *path, int *ret_fd, struct err *e);
