/*
 * Shows mount points that a read-only volume lacks.
 *
 * A volume at /job and another at /job/a/x need a directory a/x in the first volume. If the first volume lacks this
 * directory and is read-only, we must not make the directory in the source. Instead an overlay shows the source below
 * a layer of empty directories and files, the stubs, which are in memory. The overlay is read-only. A volume that has
 * all its mount points is mounted as it is.
 */
#pragma once

#include "process/plan.h"
#include "process/rootfs.h"

/* Adds, for every read-only volume of R that lacks mount points, the steps that put stubs over TREE[i], and replaces
 * TREE[i] by the resulting tree. IS_DIR[i] says that mount i is a directory. The working directory is the stage. */
void stub_layers_add(const struct rootfs *r, struct plan *p, int tree[], const bool is_dir[]);
