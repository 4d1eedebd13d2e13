/*
 * Reads and writes files below a directory descriptor. A sandbox may change the directory tree at
 * any moment.
 *
 * Every path is relative to the descriptor of a directory. The kernel resolves the path and refuses
 * to leave the directory (openat2 with RESOLVE_BENEATH). With this flag the kernel also refuses
 * every absolute link. We want that, because an absolute link leads to another file inside a
 * sandbox than on the host. We never write to an existing file, because the file may have another
 * name (a hard link) outside of the tree. We write a new file and rename it over the old one. If we
 * have the right to do so, we give each new file or directory to the owner of its parent directory.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* While a file or package is still being written, its name has this prefix. */
#define BENEATH_NEW ".cordon-new-"

/* Opens PATH with the flags FLAGS of open(), and follows links that stay below DIR. Opening a FIFO
 * does not block. Returns a descriptor or -errno; -EXDEV means that the path leads out of DIR. */
MUST_USE int beneath_open(int dir, const char *path, int flags);
/* Like beneath_open(), but follows no link. The path "" is DIR itself. */
MUST_USE int beneath_open_unlinked(int dir, const char *path, int flags);
/* Opens PATH, a regular file or a directory, for reading and follows no link. If PATH is another
 * kind of file, does not open the file, returns -EINVAL and sets *RET_KIND to the kind (S_IFMT). */
MUST_USE int beneath_open_kind(int dir, const char *path, mode_t *ret_kind);
/* Like stat(), but follows only links that stay below DIR. Returns 0 or -errno. */
MUST_USE int beneath_stat(int dir, const char *path, struct stat *ret);
bool beneath_has_file(int dir, const char *path);
bool beneath_has_dir(int dir, const char *path);

/* Reads the regular file PATH into B. Returns -EFBIG if B cannot hold the file, and -EISDIR or
 * -EINVAL if PATH is no regular file. Fills *RET with the status of the file, unless RET is
 * NULL. */
MUST_USE int beneath_read(int dir, const char *path, struct buf *b, struct stat *ret);
/* Makes the file PATH with this content, and its missing parent directories. The new file gets the
 * mode of the file that it replaces, or 0644 if there was none. If PATH is a link, its target is
 * replaced. Returns 0 or -errno; -EXDEV means that the path leads out of DIR. */
MUST_USE int beneath_write(int dir, const char *path, struct str content);
/* Makes the file NAME with this content. If NAME exists, it is replaced, unless it is a directory.
 * Follows no link. */
MUST_USE int beneath_replace(int dir, const char *name, struct str content);
/* Makes the directory PATH and its missing parents, and opens the directory. Returns a
 * descriptor or -errno. */
MUST_USE int beneath_make_dirs(int dir, const char *path);
/* Like beneath_make_dirs(), but follows no link. */
MUST_USE int beneath_make_dirs_unlinked(int dir, const char *path);
/* Makes the directory NAME, which must not exist, and opens it. Returns a descriptor or -errno. */
MUST_USE int beneath_make_dir(int dir, const char *name);
/* Makes the file NAME, which must not exist, and opens it for writing. Returns a descriptor or
 * -errno. */
MUST_USE int beneath_make_file(int dir, const char *name, mode_t mode);
/* Returns PREFIX with a random suffix, allocated. */
char *beneath_fresh_name(const char *prefix);
