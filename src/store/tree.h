/*
 * A directory tree that is only ever touched by descriptor: names come from strangers, so every
 * path is resolved by the kernel with the tree as its root.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/json.h"
#include "image/store.h"

#define TREE_PATH_MAX_BYTES 4095u /* PATH_MAX without its terminator */

/* Opens PATH with ROOT_FD as "/": links, absolute or climbing, stay inside. fd or -errno. */
int tree_open(int root_fd, const char *path, int flags);
/* Opens the directory PATH, making what is missing of it (0755, marked with IMAGE_IMPLIED_XATTR). A link that leads nowhere is
 * followed and its target made. *RET_MADE counts the directories made. fd or -errno. */
int tree_make_path(int root_fd, const char *path, unsigned *ret_made);
/* Sets an attribute of ours that makes things better where the file system takes it. -errno */
int tree_mark(int fd, const char *name, const void *value, size_t n);
/* Attributes that images may give their files. The others are orders to the host: of overlayfs, of its
 * security modules. */
bool tree_keeps_xattr(const char *name);
/* Removes NAME in DIR_FD, a tree of any depth, without following anything. 0 or -errno; a missing
 * NAME is success. */
MUST_USE int tree_remove(int dir_fd, const char *name);

/* The worker `remove`. */
int tree_run(const char *arg, enum layer_owners owners, struct json_writer *reply, struct err *e);
