/*
 * Shows mount points that a read-only volume lacks.
 *
 * A volume at /job and another at /job/a/x need a directory a/x in the first volume. If the first
 * volume lacks this directory and is read-only, we must not make the directory in the source.
 * Instead we mount a read-only overlay: its lower layer is the source, and the layer above the
 * source has empty directories and files, the stubs, in memory. A volume that has all its mount
 * points needs no overlay.
 */
#pragma once

#include "process/plan.h"
#include "process/rootfs.h"

/* For every read-only volume i of *R that lacks mount points, adds the steps that put stubs over
 * TREE[i], and replaces TREE[i] by the resulting tree. IS_DIR[i] is true if mount i is a directory.
 * The paths in the steps are relative to the tmpfs that STEP_STAGE mounts. */
void stub_layers_add(const struct rootfs *r, struct plan *p, int tree[], const bool is_dir[]);
