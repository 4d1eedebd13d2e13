/*
 * The place where a tree goes: a directory, held open by a descriptor, and the name that the tree
 * gets there.
 *
 * The path is resolved only once, and links in it are followed. All later operations are relative
 * to the descriptor and follow no link.
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

/* Finds the place by the rule of cp(1). A relative PATH begins at the directory AT, or at the
 * working directory if AT is AT_FDCWD. If PATH is a directory or ends in '/', the tree goes into
 * that directory as NAME, and a missing directory is made. Otherwise the tree goes to PATH. If
 * EXACT is set, the tree always goes to PATH. NAME may be empty. */
MUST_USE int tree_place(int at, const char *path, const char *name, bool exact,
			struct tree_place *ret, struct err *e);
/* Works like tree_place(), but PATH always begins at "/", the sandbox's root. A '/' at the end of
 * PATH has no effect. The path, and every link in it, must not lead onto another mount. Makes the
 * missing directories above the place. */
MUST_USE int tree_place_own(const char *path, const char *name, bool exact, struct tree_place *ret,
			    struct err *e);
/* Makes the directory PATH and its missing parents, in the same way as tree_place_own(). *RET_FD
 * becomes a descriptor of the directory. */
MUST_USE int tree_make_own(const char *path, int *ret_fd, struct err *e);
