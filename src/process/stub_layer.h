/*
 * Mount points that a read-only volume lacks.
 *
 * A volume at /job and another at /job/a/x need a directory a/x to mount on. If the source of the
 * first has none and is read-only, we must not make it there. An overlay shows the source below a
 * layer of empty directories and files, the stubs, which lie in the memory of the start. It is
 * read-only as a whole. A volume that lacks nothing is mounted as it is.
 */
#pragma once

#include "process/plan.h"
#include "process/rootfs.h"

/* For every read-only volume of R that lacks mount points: adds the steps that put stubs over TREE[i], and puts the
 * tree of the result in its place. IS_DIR[i]: mount i is a directory. The working directory is the stage. */
void stub_layers_add(const struct rootfs *r, struct plan *p, int tree[], const bool is_dir[]);
