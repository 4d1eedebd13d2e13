/*
 * The image `host`: it shows the programs of this machine, read-only, on top of a base that we
 * make.
 *
 * The base is a small directory tree with an /etc of our own, an empty /root and mount points. It
 * is made once per home and is the lowest layer of the overlay. After programs were installed on
 * the host, the next start makes a new base under another name. process/host_etc.h says which files
 * of the host's /etc are copied.
 */
#pragma once

#include "base/err.h"
#include "process/ids.h"

/* Opens the current base below CACHE_FD, and makes the base if necessary. The files of the base
 * belong to the root of the sandbox. If the sandbox's ids are rotated, this root has another id on
 * disk, so such a sandbox gets another base. `image prune` removes a base unless a process holds
 * *RET_FD or a duplicate of it. */
MUST_USE int host_image_open_base(int cache_fd, const struct ids *i, int *ret_fd, struct err *e);
/* Opens the layer that lies below the layers of all other images. This layer has only the mount
 * points that every sandbox needs. If an image lacks such a mount point, this layer provides it, so
 * a sandbox need not make it in its writable layer. */
MUST_USE int host_image_open_places(int cache_fd, const struct ids *i, int *ret_fd, struct err *e);

/* Directories of the host that the image `host` shows read-only: /usr, also /bin if it is no link,
 * and so on. A directory is left out if some users of the host cannot reach it. */
#define HOST_DIRS_MAX 10
struct host_dirs {
	const char *path[HOST_DIRS_MAX]; /* "/usr", "/bin" … */
	unsigned n;
	/* The real path of /usr/local/etc if that is in one of these directories, else "". The
	 * directory holds configuration of the host, so an empty directory is mounted over it. */
	char local_etc[4096];
};
void host_dirs_find(struct host_dirs *ret);
