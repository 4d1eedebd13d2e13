/*
 * Makes an image from a tar that holds a root file system. The image has one layer, and its
 * configuration has no command.
 *
 * A worker decompresses the archive, because this process never parses untrusted data. The layer is
 * stored without compression. So the manifest and the configuration name the layer by the same
 * digest: a manifest names the stored blob, and `diff_ids` in the configuration names the plain
 * tar.
 */
#pragma once

#include "base/err.h"
#include "store/install.h"
#include "store/store.h"

/* Reads the archive from FD, whose offset must be at the beginning. Puts the blobs of the image
 * into the store and fills manifest and manifest_digest in *RET. Makes a temporary file in the
 * directory STAGING. */
MUST_USE int rootfs_tar_take(const struct store *store, int fd, int staging, struct install *ret,
			     struct err *e);
