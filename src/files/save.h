/* Writes a file of a tree that other processes may change at any moment.
 *
 * If save_replace() writes the file, other processes see either the old file or the whole new file.
 * If our process is killed while it writes, no incomplete file is left under NAME. If our process
 * is killed directly before it renames the new file, the new file stays beside the old one, under
 * the name BENEATH_NEW and a number. If the file system has no unnamed files, an incomplete new
 * file may stay there too. */
#pragma once

#include <sys/stat.h>

#include "base/str.h"
#include "base/err.h"

/* Puts a file with this content in the place of NAME in the directory DIR. NAME may be missing. If
 * NAME is a regular file, the new file gets its mode and its owner. Returns 0 or -errno: -ELOOP for
 * a symbolic link, -EISDIR for a directory, -EINVAL for anything else that is no regular file. If
 * OLD is not NULL, and NAME is another file than OLD or was changed since then, returns
 * -ESTALE. */
MUST_USE int save_replace(int dir, const char *name, struct str content, const struct stat *old);
/* Adds CONTENT to the end of the file NAME, in place. If NAME is missing, makes the file by
 * save_replace(). Returns the same as save_replace() without OLD. */
MUST_USE int save_append(int dir, const char *name, struct str content);
/* A and B are two states of files. Returns true if they are of the same file, and nothing was
 * written to the file in between. */
bool save_is_unchanged(const struct stat *a, const struct stat *b);
