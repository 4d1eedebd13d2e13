/*
 * Remembers which file or directory of the host a path means. Later uses of the path then reach the
 * same object, or fail.
 *
 * When a person names a path, identity_hold() follows the links of this path once, and finds the
 * canonical path and the identity of the object. The sandbox's record keeps both. Every later use
 * calls identity_open(), which opens the canonical path from / without following any link, and
 * fails if it finds another object. The caller mounts or reads the descriptor and does not look the
 * path up again.
 *
 * Neither a device number nor an inode number identifies an object: st_dev changes when a loop
 * device or btrfs is mounted again, and ext4 gives a new directory the inode number of a deleted
 * one. The kernel's file handle identifies an object. Overlay and FUSE have no lasting handles. On
 * FUSE we use the inode number and the time of birth. On overlay we use the inode number alone,
 * because a directory gets a new time of birth when the overlay copies it up.
 *
 * For a regular file we keep the identity of its directory, and accept any regular file that has
 * the same name. The reason is that editors save a file by writing a new file and renaming it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"

#define IDENTITY_HANDLE_MAX_BYTES 128 /* the kernel's MAX_HANDLE_SZ */

struct identity {
	bool known;        /* false if the record was made before identities were kept */
	bool of_parent;    /* the object is a file, and the members below describe its directory */
	uint32_t handle_n; /* 0 if the file system has no lasting handles */
	int32_t handle_type;
	uint8_t handle[IDENTITY_HANDLE_MAX_BYTES];
	uint64_t inode;
	bool has_birth;
	int64_t birth_s;
	uint32_t birth_ns;
};

/* Reads the identity of the object that FD has open. Returns 0 or -errno. */
MUST_USE int identity_take(int fd, struct identity *ret);
/* Returns true if both identities are of the same object. */
bool identity_equal(const struct identity *a, const struct identity *b);

/* Follows links and finds the object that PATH means now. *RET_PATH is canonical and the caller
 * frees it; *RET_FD is an O_PATH descriptor. Error messages call the object "WHAT 'PATH'". Fails
 * with ERR_INVALID if the object is neither a directory nor a regular file. */
MUST_USE int identity_hold(const char *what, const char *path, char **ret_path,
			   struct identity *ret, int *ret_fd, struct err *e);
/* Opens the canonical PATH with O_PATH, without following any link, and checks its identity. If ID
 * is not known, fills it in. If the path leads to another object, fails with ERR_DENIED and says
 * what has changed. */
MUST_USE int identity_open(const char *path, struct identity *id, int *ret_fd, struct err *e);
/* Returns the path that leads to the open FD now, allocated. Returns NULL if no path leads to FD,
 * or if the path is too long. */
char *identity_path(int fd);
/* Opens the file of the O_PATH descriptor FD with the FLAGS of open(2). Returns a descriptor, or
 * -1 and sets errno. */
int identity_reopen(int fd, int flags);

/* Writes ID as one JSON value, or null if ID is not known. */
void identity_write_json(const struct identity *id, struct json_writer *w);
/* Reads an identity from V. If V is NULL or the JSON value null, the identity in *RET is not known.
 * Error messages call the member PATH. */
MUST_USE int identity_read_json(const struct json_value *v, const char *path, struct identity *ret,
				struct err *e);
