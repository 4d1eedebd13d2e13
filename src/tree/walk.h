/*
 * A file tree as a stream of records (wire/file.h).
 *
 * Everything below the named path is reached by descriptor, one component at a time, and no link is
 * followed: a tree that changes under us can make the copy odd, never lead it elsewhere. Memory is
 * bounded however large the tree. Both sides of the wall use this: the client on the host's files,
 * the file agent on the sandbox's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define TREE_DEPTH_MAX 256u /* open directories on the way down; each costs a descriptor or two */

struct tree_sink {
	int (*write)(void *arg, const void *p, size_t n, struct err *e);
	void *arg;
	bool keep_same; /* it understands SHARED and SAME: hard links are sent as such */
};

/* PATH as its user wrote it: a trailing slash follows a link, and "." or "/" at the end means the
 * contents rather than the directory. What cannot be read becomes a MISS, what is no file, link or
 * directory a NOTE; only a missing PATH and a failing sink are errors. DONE is left to the caller. */
MUST_USE int tree_walk(const char *path, const struct tree_sink *s, struct err *e);
/* The regular file or directory that FD has open for reading, under the name AS. Takes FD. */
MUST_USE int tree_walk_fd(int fd, const char *as, const struct tree_sink *s, struct err *e);
