/*
 * Unpacks a layer to a directory that overlayfs can use as a lower layer.
 *
 * Unpacking keeps files, directories, hard and symbolic links, FIFOs, holes, times, modes with
 * setuid and setgid, `user.*` attributes and file capabilities, and names of any bytes. Unpacking
 * leaves out device nodes and sockets (a sandbox has its own /dev), other attributes, and
 * attributes that overlayfs would read as instructions (`user.overlay.*`).
 *
 * Files get the owners that the image names, if these ids are at most OWNERS_ID_MAX. Larger ids
 * become OWNERS_ID_SQUASHED. If owners cannot be set, files belong to the user who runs cordon. If
 * a file gets another owner than the image names, it loses setuid and setgid.
 *
 * A whiteout (`.wh.NAME`, which deletes a file of a lower layer) becomes a character device 0:0,
 * which every user may make. A directory that hides the directories of lower layers gets the
 * attribute `user.overlay.opaque`. Overlays that are mounted with `userxattr` obey this attribute.
 * If the file system can store no such device, or no such attribute, files named `.wh.NAME` and
 * `.wh..wh..opq` take their place. Then only fuse-overlayfs can mount the layer.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "image/store.h"
#include "store/allowance.h"

/* the most entries of one layer: five times as many as in the largest layer that we saw */
#define UNPACK_ENTRIES_MAX (1u << 20)
#define UNPACK_XATTR_MAX_BYTES 65536u /* the kernel's own limit for one attribute */

/* Reads a blob of BLOB_BYTES from BLOB_FD and unpacks it to DIR_FD/root, or to DIR_FD/served if the
 * layer needs files named `.wh.NAME`. The owners are rotated by ROTATION. Fails if the layer needs
 * more than the allowance LEFT. After a failure a part of the tree stays on disk. */
MUST_USE int unpack_layer(int blob_fd, uint64_t blob_bytes, int dir_fd, enum layer_owners owners,
			  const struct rotation *rotation, const struct allowance *left,
			  struct image_layer_info *ret, struct err *e);
/* The worker `unpack`. */
int unpack_run(const char *arg, enum layer_owners owners, struct json_writer *reply, struct err *e);
