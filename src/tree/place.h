/*
 * Where a tree goes: the directory it is put in, pinned by descriptor, and the name it gets there.
 *
 * The path is resolved once, as its user would resolve it. Everything after that happens relative
 * to the descriptor and follows no link.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "wire/file.h"

struct tree_place {
	int dir;
	char name[FILE_NAME_MAX_BYTES + 1]; /* empty: the directory itself takes the contents */
};

/* The usual rule of copying: into PATH as NAME if PATH is a directory or ends in '/' (then made
 * if it is missing), else at PATH. EXACT: at PATH, whatever is there. NAME may be empty. */
MUST_USE int tree_place(const char *path, const char *name, bool exact, struct tree_place *ret,
			struct err *e);
/* The same below the root and across no mount, with missing directories on the way made. Links are
 * resolved within the root. */
MUST_USE int tree_place_own(const char *path, const char *name, bool exact, struct tree_place *ret,
			    struct err *e);
/* Directory PATH and all on the way to it, below the root and across no mount. */
MUST_USE int tree_make_own(const char *path, int *ret_fd, struct err *e);
