/*
 * Makes an image of a plain tar with a root file system: one layer, and a configuration without a command.
 *
 * A worker decompresses the archive, because this process never parses what others wrote. The layer is kept plain, so
 * that its digest is also the digest that the configuration needs.
 */
#pragma once

#include "base/err.h"
#include "store/install.h"
#include "store/store.h"

/* Reads the archive from FD, which is at its beginning, puts the blobs of the image into the store and fills the manifest
 * of RET. STAGING is a directory for one file. */
MUST_USE int rootfs_tar_take(const struct store *store, int fd, int staging, struct install *ret,
			     struct err *e);
