/*
 * The home is the directory of all state. The functions of this file find the home, check that the
 * home is ours, and open files in the home.
 *
 * The home is `$CORDON_HOME`, else `$MSB_HOME`, else ~/.cordon. A marker file shows that a
 * directory is a home. If a directory holds other files and no marker, we refuse it and write
 * nothing into it. A home has mode 0700 and belongs to one user.
 *
 *   sandboxes/NAME/   the record: config.json, state.json, lock, layers/, logs/
 *   volumes/NAME/     named volumes
 *   cache/            images, the base of image `host`
 *   run/ID.sock       pid 1's socket; ID is a hash of the sandbox's name
 *   run/ID.ctl        the supervisor's socket
 *   bin/              commands that `cordon install` made
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/identity.h"

#define HOME_ID_BYTES 17 /* 16 hex digits and the terminator */

/* Which roots fuse-overlayfs must mount in this home, because the kernel's overlay cannot. */
enum home_served {
	HOME_SERVED_NOTHING,
	HOME_SERVED_ON_DISK, /* only roots whose writable layer is in the home */
	HOME_SERVED_ALL,
};

/* A part of the home that is elsewhere (state/places.h). The home has a link to the directory of
 * this part. `identity` belongs to the directory for which this link was made. */
#define HOME_PLACES_MAX 4
struct home_place {
	char *name, *path;
	struct identity identity;
	bool held; /* the link still leads to the directory of `identity` */
};

struct home {
	char path[PATH_MAX]; /* canonical, absolute; "" until it is known */
	int fd;              /* O_PATH directory */
	enum home_served served;
	struct home_place place[HOME_PLACES_MAX];
	size_t n_places;
};

/* Opens the home, and makes it if it is missing. Some parts of the home may be links to other
 * directories (state/places.h). Fails if such a link now leads to another directory than when the
 * link was made, unless this directory holds a file HOME_PLACE_MARK. */
MUST_USE int home_open(struct home *h, struct err *e);
void home_done(struct home *h);
#define AUTO_HOME __attribute__((cleanup(home_done))) struct home

/* Writes to the marker file which roots the running kernel cannot mount. Every command reads the
 * marker file. */
MUST_USE int home_set_served(const struct home *h, enum home_served served, struct err *e);
/* Writes to the marker file that the part NAME is in the directory PATH from now on. */
MUST_USE int home_set_place(const struct home *h, const char *name, const char *path,
			    const struct identity *id, struct err *e);
/* If a directory holds an empty file of this name, its owner wants cordon to keep a part of the
 * home in this directory. */
#define HOME_PLACE_MARK ".cordon-place"

/* Writes the short name of the sockets of the sandbox NAME to OUT. */
void home_socket_id(const char *name, char out[HOME_ID_BYTES]);
/* Writes an id of the sandbox NAME to OUT. The names of the sandbox's control groups contain this
 * id. No other home on this machine has a sandbox with the same id. The first HOME_TAG_DIGITS
 * digits are the same for all sandboxes of a home, so that the groups of a deleted home can be
 * recognised. */
#define HOME_TAG_DIGITS 6
void home_machine_id(const struct home *h, const char *name, char out[HOME_ID_BYTES]);
/* Opens DIR below the home as a directory, and makes it with mode 0700 if it is missing. */
MUST_USE int home_dir(const struct home *h, const char *dir, int *ret_fd, struct err *e);
/* If directories of the home were deleted, makes them again. Returns true if a directory was
 * missing. A broken link does not count as missing, because its target may come back. */
bool home_mend(const struct home *h);
/* Opens the part PART of the home for reading, and makes it if it is missing. On failure returns -1
 * and sets errno. */
int home_open_part(const struct home *h, const char *part);
/* Opens the existing directory or file REST in the part PART of the home. If PART is elsewhere,
 * opens REST in the directory that the marker file names. Follows no link below PART. On failure
 * returns -1 and sets errno. */
int home_open_in(const struct home *h, const char *part, const char *rest, int flags);

#define HOME_TEMPORARY_BYTES 48
/* Writes an unused path below the home to OUT: FOLDER, then ".WHAT-…". A sweep removes files that a
 * command left at such a path. */
void home_temporary_path(char out[HOME_TEMPORARY_BYTES], const char *folder, const char *what);

/* home_connect() connects to the socket run/ID.SUFFIX of the sandbox NAME, and home_listen()
 * listens on this socket. Both functions also work if the socket's path does not fit into a socket
 * address. */
MUST_USE int home_connect(const struct home *h, const char *name, const char *suffix, int *ret_fd);
MUST_USE int home_listen(const struct home *h, const char *name, const char *suffix, int *ret_fd);
void home_erase_sockets(const struct home *h, const char *name);
