/*
 * The writable layer of a sandbox, and what keeps its size.
 *
 *   layers/0/{upper,work}   a directory: under a project quota where the file system has them, else
 *                           watched (watched_layer.h)
 *   layers/0/disk.raw       a file system in a file, for a size that was asked for
 *   layers/0/disk.raw       with --root-disk flat: the whole root, a copy of the image's flat form
 *   in memory               ephemeral sandboxes without --root-disk disk, and --root-disk tmpfs
 *
 * The choice is made at the first start and is found again by what is there. A size that was not
 * asked for costs nearly nothing: where only a disk would hold it, the layer is a plain directory, and we
 * watch it.
 */
#pragma once

#include "process/rootfs.h"
#include "supervisor/supervisor.h"

#define LAYER_MEMORY "tmpfs" /* how the size of one in memory holds */

/* Fills in the upper of R, and how its size holds in S. */
MUST_USE int layer_open(struct supervisor *s, struct rootfs *r, struct err *e);
/* Empties the work area of R's layer, if that is on disk: scratch of an overlay that is not mounted. */
MUST_USE int layer_clean(const struct rootfs *r, struct err *e);
/* … where there is no layer but one disk with everything: fills in the only layer of R. */
MUST_USE int layer_open_flat(struct supervisor *s, struct rootfs *r, struct err *e);
