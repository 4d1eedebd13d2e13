/*
 * The location of an object says where the object is in its file system, independent of mounts.
 *
 * A directory that is mounted in two places has two paths, but only one location. A location is the
 * device of the file system, as /proc/self/mountinfo shows it, and the path from the file system's
 * own root. To find out whether one directory shows another, compare their locations, not their
 * paths.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct location {
	uint64_t device; /* major << 32 | minor */
	char *path;      /* allocated */
};
void location_done(struct location *l);
#define AUTO_LOCATION __attribute__((cleanup(location_done))) struct location
/* Returns true if A is DIR or lies below DIR. */
bool location_is_within(const struct location *a, const struct location *dir);

/* The table of mounts that this process saw when it called mounts_read(). */
struct mounts {
	struct mounts_line {
		uint64_t id, device;
		char *root;  /* the part of the file system that is mounted */
		char *point; /* the path at which this part is mounted */
	} * line;
	size_t n;
};
MUST_USE int mounts_read(struct mounts *ret, struct err *e);
void mounts_done(struct mounts *m);
#define AUTO_MOUNTS __attribute__((cleanup(mounts_done))) struct mounts

/* Finds the location of the file or directory that FD has open. */
MUST_USE int mounts_locate(const struct mounts *m, int fd, struct location *ret, struct err *e);
/* Calls FOUND with every path below the directory FD at which WHAT, or something below WHAT, can be
 * reached. WHAT may lie in the directory's own file system, or appear in a mount below the
 * directory. BELOW is the path from FD on and begins with a slash. */
MUST_USE int mounts_find(const struct mounts *m, int fd, const struct location *what,
			 void (*found)(void *arg, const char *below), void *arg, struct err *e);
