/*
 * Directories that a layer of an image only passes through, since its tar has no entry for them: owner
 * and mode are those of a layer below, but overlayfs shows those of the topmost. Unpacking has marked
 * them (image/store.h). The root of the image is the most usual one.
 */
#pragma once

#include "process/rootfs.h"

/* Fills in R what its root, whose writable layer is new, must be told. */
void passed_find(struct rootfs *r);
