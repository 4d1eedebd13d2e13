/*
 * The state directory: where it is, that it is ours, and how paths in it are named.
 *
 * `$CORDON_HOME`, else `$MSB_HOME`, else ~/.cordon. A home is recognised by its marker file; a
 * directory that has other things in it and no marker is refused, never written into. It is 0700
 * and belongs to one user.
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

enum home_served {
	HOME_SERVED_NOTHING,
	HOME_SERVED_ON_DISK, /* roots whose writable layer is in the home */
	HOME_SERVED_ALL,
};

/* A part of the home that lives elsewhere (places.h): which directory its link led to when it was made. */
#define HOME_PLACES_MAX 4
struct home_place {
	char *name, *path;
	struct identity identity;
	bool held; /* the link leads there, and it is that directory */
};

struct home {
	char path[PATH_MAX];     /* canonical, absolute; "" until it is known */
	int fd;                  /* O_PATH directory */
	enum home_served served; /* what this kernel's overlay does not do here */
	struct home_place place[HOME_PLACES_MAX];
	size_t n_places;
};

/* Opens the home, making it when it is missing. Refuses one of whose parts elsewhere is another directory
 * now than when it was named. */
MUST_USE int home_open(struct home *h, struct err *e);
void home_done(struct home *h);
#define AUTO_HOME __attribute__((cleanup(home_done))) struct home

/* Remembers in the marker, which every command reads, what the kernel that runs now does not do. */
MUST_USE int home_set_served(const struct home *h, enum home_served served, struct err *e);
/* The same for the directory PATH that part NAME lives in from now on. */
MUST_USE int home_set_place(const struct home *h, const char *name, const char *path,
			    const struct identity *id, struct err *e);
/* An empty file of this name in a directory says that its owner means it to be a place of ours. */
#define HOME_PLACE_MARK ".cordon-place"

/* The short name of sandbox NAME inside this home (sockets). */
void home_socket_id(const char *name, char out[HOME_ID_BYTES]);
/* One that no other home on this machine shares (cgroups). It begins with HOME_TAG_DIGITS that all of this
 * home have in common: what is left of a home that was deleted can be told from others'. */
#define HOME_TAG_DIGITS 6
void home_machine_id(const struct home *h, const char *name, char out[HOME_ID_BYTES]);
/* Opens DIR below the home as a directory, making it 0700. */
MUST_USE int home_dir(const struct home *h, const char *dir, int *ret_fd, struct err *e);
/* Somebody deleted a directory of the home: makes what is missing again. False: nothing was. A link that leads
 * nowhere is not missing: what it leads to may come back. */
bool home_mend(const struct home *h);
/* PART of the home, to be read, made if it is missing. -1 with errno. */
int home_open_part(const struct home *h, const char *part);
/* REST in PART of the home, an existing directory or file. The link to a part that lives elsewhere is not
 * followed: the directory that is held is opened, and no link below it is followed. -1 with errno. */
int home_open_in(const struct home *h, const char *part, const char *rest, int flags);

/* "run/ID.sock" and "run/ID.ctl": connects or listens; long homes work. */
MUST_USE int home_connect(const struct home *h, const char *name, const char *suffix, int *ret_fd);
MUST_USE int home_listen(const struct home *h, const char *name, const char *suffix, int *ret_fd);
void home_erase_sockets(const struct home *h, const char *name);
