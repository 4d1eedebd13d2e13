/*
 * Files below a directory descriptor, in trees that a sandbox may change at any moment.
 *
 * Every path is relative to a descriptor and resolved by the kernel, which never leads it out of that
 * directory (openat2 with RESOLVE_BENEATH). An absolute link counts as leading out, even to a place inside:
 * inside a sandbox it would mean something else. Existing files are never written to, because another name may
 * lead to the same file; a new file takes the place of the old one. What we make belongs to the owner of
 * the directory that it is made in, as far as we have the right to give it away.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* What we make in a directory has a name with this prefix until it is complete. */
#define BENEATH_NEW ".cordon-new-"

/* Opens PATH for reading; follows links that stay below DIR. Opening waits for nobody, also if PATH is a FIFO.
 * -errno; -EXDEV if the path leads out of DIR. */
MUST_USE int beneath_open(int dir, const char *path, int flags);
/* The same without following any link. "" is DIR itself. */
MUST_USE int beneath_open_unlinked(int dir, const char *path, int flags);
/* Looks at PATH, following links that stay below DIR. 0 or -errno. */
MUST_USE int beneath_stat(int dir, const char *path, struct stat *ret);
bool beneath_has_file(int dir, const char *path);
bool beneath_has_dir(int dir, const char *path);

/* Reads the regular file PATH, at most as much as B may hold. -EFBIG if there is more, -EISDIR or -EINVAL if
 * it is no regular file. RET may be NULL. */
MUST_USE int beneath_read(int dir, const char *path, struct buf *b, struct stat *ret);
/* Makes PATH a file with this content, mode 0644, or the mode of the file that it replaces. Directories on the
 * way are made. If PATH leads over links, the file that they lead to is replaced. -errno, -EXDEV as above. */
MUST_USE int beneath_write(int dir, const char *path, struct str content);
/* Puts such a file in the place of NAME, whatever that is unless it is a directory. */
MUST_USE int beneath_replace(int dir, const char *name, struct str content);
/* Makes the directory PATH and those on the way to it, and opens it. */
MUST_USE int beneath_make_dirs(int dir, const char *path);
/* Makes the directory NAME, which must not exist, and opens it. -errno. */
MUST_USE int beneath_make_dir(int dir, const char *name);
/* Makes the file NAME, which must not exist, and opens it for writing. -errno. */
MUST_USE int beneath_make_file(int dir, const char *name, mode_t mode);
/* A fresh name with PREFIX, allocated. */
char *beneath_fresh_name(const char *prefix);
