/*
 * The image `host`: the programs of this machine, read-only, over a base of our own.
 *
 * The base is a small directory tree with a synthetic /etc, an empty /root and mount points. It is made
 * once per home and is the lowest layer of the overlay. When programs were installed on the host, a new
 * base is made under another name. process/host_etc.h says what of the host's /etc is copied.
 */
#pragma once

#include "base/err.h"
#include "process/ids.h"

/* Opens the current base below CACHE_FD, and makes it if necessary. Its files belong to root inside: if the ids I are
 * rotated, root is another id on disk, and needs another base. `image prune` removes such a base unless a process holds
 * *RET_FD or a copy of it. */
MUST_USE int host_image_open_base(int cache_fd, const struct ids *i, int *ret_fd, struct err *e);
/* Opens the lowest layer of all other images, which has only the mount points that every sandbox
 * needs. If the image lacks such a mount point, this layer shows it, so that no sandbox makes it in
 * its writable layer. */
MUST_USE int host_image_open_places(int cache_fd, const struct ids *i, int *ret_fd, struct err *e);

/* Directories of the host that are shown read-only: /usr, /bin if it is a real directory, and so on.
 * Directories that users of the host cannot reach are left out. */
#define HOST_DIRS_MAX 10
struct host_dirs {
	const char *path[HOST_DIRS_MAX]; /* "/usr", "/bin" … */
	unsigned n;
	/* the path of /usr/local/etc if it is in one of these directories, else ""; it holds
	 * configuration, so it is covered */
	char local_etc[4096];
};
void host_dirs_find(struct host_dirs *ret);
