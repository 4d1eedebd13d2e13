/*
 * Operations on a directory tree whose names come from hostile input. The code uses only
 * descriptors, and the kernel resolves every path as if the tree were the root directory.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/json.h"
#include "image/store.h"

#define TREE_PATH_MAX_BYTES 4095u /* PATH_MAX without its terminator */

/* Opens PATH as if ROOT_FD were the root directory, so that absolute links and ".." stay in the
 * tree. Returns a descriptor or -errno. */
int tree_open(int root_fd, const char *path, int flags);
/* Opens the directory PATH. Makes the directories of the path that are missing, even if a link
 * leads to a missing directory. New directories have mode 0755 and the mark IMAGE_IMPLIED_XATTR,
 * and belong to the sandbox's root. In the worker the id of this root is 0, or another id if
 * ROTATION moves it (base/rotation.h). *RET_MADE is the number of new directories. Returns a
 * descriptor or -errno. */
int tree_make_path(int root_fd, const char *path, const struct rotation *rotation,
		   unsigned *ret_made);
/* Sets one of our own extended attributes. Also succeeds if the file system does not support
 * extended attributes. Returns 0 or -errno. */
int tree_mark(int fd, const char *name, const void *value, size_t n);
/* Marks the new directory FD as implied (image/implied.h) and gives it to the sandbox's root, as
 * tree_make_path() does. Returns 0 or -errno. */
int tree_mark_implied(int fd, const struct rotation *rotation);
/* Returns true if an image may give its files the extended attribute NAME. The host's overlayfs or
 * security modules would take other attributes for instructions. */
bool tree_keeps_xattr(const char *name);
/* The worker `erase`: erases a tree (base/erase.h). */
int tree_run(const char *arg, enum layer_owners owners, struct json_writer *reply, struct err *e);
