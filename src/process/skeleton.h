/*
 * The writable side of the image `host`: a small directory tree with a synthetic /etc, an empty
 * /root and mount points, made once per home and shared as an overlay's lowest layer.
 *
 * It is made anew under another name when the host's libraries change (ld.so.cache). Only files
 * every user of the host can read are copied, and nothing that identifies the host's users.
 */
#pragma once

#include "base/err.h"

/* Opens (making it if needed) the current skeleton below CACHE_FD. */
MUST_USE int skeleton_open(int cache_fd, int *ret_fd, struct err *e);
/* The same for other images: nothing but the mount points that all sandboxes have. Below the image's own
 * layers they are seen where it lacks them, and need not be made in the writable layer of each sandbox. */
MUST_USE int skeleton_open_places(int cache_fd, int *ret_fd, struct err *e);

/* Directories of the host that are shown as they are, read-only: /usr, /bin where it is a real
 * directory, and so on. Directories that users of the host cannot reach are left out. */
#define HOST_DIRS_MAX 10
struct host_dirs {
	const char *path[HOST_DIRS_MAX]; /* "/usr", "/bin" … */
	unsigned n;
	char local_etc
		[4096]; /* where one of them shows /usr/local/etc, which is configuration; or "" */
};
void host_dirs_find(struct host_dirs *ret);
