/*
 * Sends a file tree as a stream of records (wire/file.h).
 *
 * The walk reaches everything below the named path by descriptor, one component at a time, and
 * follows no link. If another process changes the tree meanwhile, the copy may be inconsistent, but
 * the walk never leaves the tree. Memory is bounded however large the tree is. The client walks
 * files of the host, and the file agent walks files of the sandbox.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* The most directories that may be nested in a tree. A walk keeps one or two descriptors open for
 * each directory between the top and the current file. */
#define TREE_DEPTH_MAX 256u

struct tree_sink {
	int (*write)(void *arg, const void *p, size_t n, struct err *e);
	void *arg;
	bool keep_same; /* the receiver understands SHARED and SAME: send them for hard links */
};

/* Walks PATH in the form in which the user wrote it. If PATH is a link and ends in a slash, the
 * link is followed. If the last component of PATH is "." or "..", or PATH is "/", the directory is
 * sent with an empty name. The receiver then takes the contents of the directory, not the directory
 * itself. An entry that cannot be read becomes a MISS; an entry that is no file, link or directory
 * becomes a NOTE. Only two things are errors: PATH cannot be read, or the sink fails. The caller
 * sends DONE. */
MUST_USE int tree_walk(const char *path, const struct tree_sink *s, struct err *e);
/* Walks the regular file or directory that FD has open for reading, under the name AS. Takes over
 * FD. */
MUST_USE int tree_walk_fd(int fd, const char *as, const struct tree_sink *s, struct err *e);
