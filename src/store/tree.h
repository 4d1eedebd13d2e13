/*
 * Operations on a directory tree whose names come from hostile input. The code uses descriptors
 * only, and the kernel resolves every path with the tree as its root.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/json.h"
#include "image/store.h"

#define TREE_PATH_MAX_BYTES 4095u /* PATH_MAX without its terminator */

/* Opens PATH with ROOT_FD as "/": absolute links and ".." stay inside. Returns a descriptor or
 * -errno. */
int tree_open(int root_fd, const char *path, int flags);
/* Opens the directory PATH and makes missing directories on the way, also one that a link leads to. New directories
 * have mode 0755 and the mark IMAGE_IMPLIED_XATTR, and belong to root, whose id ROTATION may change. *RET_MADE
 * counts the new directories. Returns a descriptor or -errno. */
int tree_make_path(int root_fd, const char *path, const struct rotation *rotation,
		   unsigned *ret_made);
/* Sets an attribute of ours. Succeeds also if the file system does not support the attribute.
 * Returns 0 or -errno. */
int tree_mark(int fd, const char *name, const void *value, size_t n);
/* Marks the new directory FD as implied and gives it to root. Returns 0 or -errno. */
int tree_mark_implied(int fd, const struct rotation *rotation);
/* Returns true for an attribute that an image may give its files. All others would be instructions
 * to the host's overlayfs or security modules. */
bool tree_keeps_xattr(const char *name);
/* The worker `erase`: erases a tree (base/erase.h). */
int tree_run(const char *arg, enum layer_owners owners, struct json_writer *reply, struct err *e);
