/*
 * A layer becomes a directory that overlayfs can use as a lower.
 *
 * What is kept: files, directories, links of both kinds, FIFOs, holes, times, modes with setuid
 * and setgid, `user.*` attributes and file capabilities, names of any bytes. What is not: device
 * nodes and sockets (a sandbox has a /dev of its own), attributes of other kinds, and those that
 * overlayfs would read as instructions (`user.overlay.*`).
 *
 * Owners are the image's own ids up to OWNERS_ID_MAX; larger ones become OWNERS_ID_SQUASHED, and
 * where ids cannot be set at all files stay with the caller. A file whose owner is not the one the
 * image named loses setuid and setgid.
 *
 * Deletions of lower files (`.wh.NAME`) become character devices 0:0, which everybody may make;
 * directories that hide what is below get `user.overlay.opaque`, read by overlays mounted with
 * `userxattr`.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "image/store.h"
#include "store/allowance.h"

#define UNPACK_ENTRIES_MAX (1u << 20) /* of one layer: five times the largest we met */
#define UNPACK_XATTR_MAX_BYTES 65536u /* the kernel's own limit for one attribute */

/* Reads a blob of BLOB_BYTES from BLOB_FD and makes DIR_FD/root of it, within what LEFT allows the
 * image. On failure what is there of the tree stays. */
MUST_USE int unpack_layer(int blob_fd, uint64_t blob_bytes, int dir_fd, enum layer_owners owners,
			  const struct allowance *left, struct image_layer_info *ret,
			  struct err *e);
/* The worker `unpack`. */
int unpack_run(const char *arg, enum layer_owners owners, struct json_writer *reply, struct err *e);
