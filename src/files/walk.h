/*
 * Visits the regular files below a directory, in a tree that other processes may change at any
 * moment.
 *
 * Every directory is opened by its name below its parent's descriptor, without following a link.
 * Some directories with generated files are left out (walk_skips()). The number of entries and the
 * depth are bounded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

#define WALK_ENTRIES_MAX 100000u
#define WALK_DEPTH_MAX 128u /* each level holds a descriptor */
#define WALK_PATH_MAX_BYTES 65536u

struct walk {
	/* Called for each regular file, with the directory that holds the file, its name in the
	 * directory, and its path below the top. Returns false to end the walk. */
	bool (*file)(void *arg, int dir, const char *name, struct str path);
	void *arg;
	size_t entries; /* how many entries were seen so far */
	bool cut;       /* a limit ended the walk, or hid a part of the tree */
	bool stopped;   /* the walk ends: file() returned false, or too many entries were seen */
	struct buf path;
};

/* Walks the directory FD, and closes it. */
void walk_run(struct walk *w, int fd);
/* The names of directories that the walk leaves out. The last item is NULL. */
extern const char *const walk_skipped[];
/* Returns true for the names in walk_skipped. */
bool walk_skips(const char *name);
