/*
 * The state directory: where it is, whether it is ours, and how paths in it are named.
 *
 * The home is `$CORDON_HOME`, else `$MSB_HOME`, else ~/.cordon. It is recognised by its marker file. A directory that
 * holds other files and no marker is refused, and nothing is written into it. A home has mode 0700 and belongs to one
 * user.
 *
 *   sandboxes/NAME/   the record: config.json, state.json, lock, layers/, logs/
 *   volumes/NAME/     named volumes
 *   cache/            images, the base of image `host`
 *   run/ID.sock       pid 1's socket, run/ID.ctl the supervisor's; ID is a hash of the name
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
	HOME_SERVED_ON_DISK, /* roots whose writable layer is in the home */
	HOME_SERVED_ALL,
};

/* A part of the home that lives elsewhere (places.h), with the identity of the directory that its link was made
 * for. */
#define HOME_PLACES_MAX 4
struct home_place {
	char *name, *path;
	struct identity identity;
	bool held; /* the link still leads to that directory */
};

struct home {
	char path[PATH_MAX]; /* canonical, absolute; "" until it is known */
	int fd;              /* O_PATH directory */
	enum home_served served;
	struct home_place place[HOME_PLACES_MAX];
	size_t n_places;
};

/* Opens the home, and makes it if it is missing. Refuses the home if the link of a moved part no longer leads to the
 * directory that it was made for. */
MUST_USE int home_open(struct home *h, struct err *e);
void home_done(struct home *h);
#define AUTO_HOME __attribute__((cleanup(home_done))) struct home

/* Notes in the marker which roots the running kernel cannot mount. Every command reads the marker. */
MUST_USE int home_set_served(const struct home *h, enum home_served served, struct err *e);
/* Notes in the marker that part NAME lives in the directory PATH from now on. */
MUST_USE int home_set_place(const struct home *h, const char *name, const char *path,
			    const struct identity *id, struct err *e);
/* If a directory holds an empty file of this name, its owner wants cordon to keep a part of the home in this
 * directory. */
#define HOME_PLACE_MARK ".cordon-place"

/* Makes the short name that the sockets of sandbox NAME have. */
void home_socket_id(const char *name, char out[HOME_ID_BYTES]);
/* Makes the short name of sandbox NAME for its control groups. No other home on this machine uses this name. Its
 * first HOME_TAG_DIGITS are the same for the whole home, so that the groups of a deleted home can be recognised. */
#define HOME_TAG_DIGITS 6
void home_machine_id(const struct home *h, const char *name, char out[HOME_ID_BYTES]);
/* Opens DIR below the home as a directory, and makes it with mode 0700 if it is missing. */
MUST_USE int home_dir(const struct home *h, const char *dir, int *ret_fd, struct err *e);
/* Makes deleted directories of the home again. Returns true if any was missing. A broken link does not count as
 * missing, because its target may come back. */
bool home_mend(const struct home *h);
/* Opens PART of the home for reading, and makes it if it is missing. Returns -1 with errno. */
int home_open_part(const struct home *h, const char *part);
/* Opens REST, an existing directory or file, in PART of the home. If PART lives elsewhere, looks in the directory
 * that the marker names. Follows no link below PART. Returns -1 with errno. */
int home_open_in(const struct home *h, const char *part, const char *rest, int flags);

#define HOME_TEMPORARY_BYTES 48
/* Makes up an unused path below the home: FOLDER, then ".WHAT-…". A sweep removes what a command left at such a
 * path. */
void home_temporary_path(char out[HOME_TEMPORARY_BYTES], const char *folder, const char *what);

/* Connects to, or listens on, run/ID.SUFFIX. Also works if the path is longer than a socket address. */
MUST_USE int home_connect(const struct home *h, const char *name, const char *suffix, int *ret_fd);
MUST_USE int home_listen(const struct home *h, const char *name, const char *suffix, int *ret_fd);
void home_erase_sockets(const struct home *h, const char *name);
