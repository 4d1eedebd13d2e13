/*
 * Which object a path of the host's means, so that it means the same one for ever.
 *
 * A person names a path once. identity_hold() follows its links that one time and says where the
 * object is, by a canonical path, and which object it is. Both are kept in the sandbox's record. Every
 * later use goes through identity_open(): it opens the canonical path from / without following any
 * link and refuses whatever is not the same object. The descriptor is what is mounted or read; the
 * path is not looked up again.
 *
 * Neither a device number nor an inode number identifies an object: st_dev changes when a loop device
 * or btrfs is mounted again, and ext4 gives a new directory the inode number of a deleted one. The
 * kernel's file handle identifies it. Where a file system has no handles (overlay, FUSE, whose handles
 * last only as long as the server remembers them), the inode number and the time of birth do; on
 * overlay the inode number alone, because copying a directory up changes its time of birth.
 *
 * Of a regular file the directory it lies in is held, and any regular file of that name is accepted:
 * editors save by writing a new file and renaming it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"

#define IDENTITY_HANDLE_MAX_BYTES 128 /* the kernel's MAX_HANDLE_SZ */

struct identity {
	bool known;        /* false: an older record, made before identities were kept */
	bool of_parent;    /* the object is a file; this is the directory it lies in */
	uint32_t handle_n; /* 0: the file system has no handles */
	int32_t handle_type;
	uint8_t handle[IDENTITY_HANDLE_MAX_BYTES];
	uint64_t inode;
	bool has_birth;
	int64_t birth_s;
	uint32_t birth_ns;
};

/* Looks at the object that FD has open. 0 or -errno. */
MUST_USE int identity_take(int fd, struct identity *ret);
/* True when both are of one object. */
bool identity_equal(const struct identity *a, const struct identity *b);

/* Follows the links of PATH, once. *RET_PATH is canonical and the caller's to free, *RET_FD an O_PATH
 * descriptor. Errors speak of "WHAT 'PATH'"; ERR_INVALID when it is neither a directory nor a regular
 * file. */
MUST_USE int identity_hold(const char *what, const char *path, char **ret_path,
			   struct identity *ret, int *ret_fd, struct err *e);
/* Opens the canonical PATH with O_PATH, without following any link. ID is what is expected there; where
 * it is not known, it is learned. ERR_DENIED says what has changed since the path was named. */
MUST_USE int identity_open(const char *path, struct identity *id, int *ret_fd, struct err *e);
/* The path that leads to what FD has open now, allocated; NULL where there is none, or a longer one than a
 * path may be. */
char *identity_path(int fd);
/* Opens for use what FD has open by O_PATH: FLAGS as for open(2). -1 with errno. */
int identity_reopen(int fd, int flags);

/* The value of one member; what is not known is null. */
void identity_write_json(const struct identity *id, struct json_writer *w);
/* V may be NULL. PATH names the member in messages. */
MUST_USE int identity_read_json(const struct json_value *v, const char *path, struct identity *ret,
				struct err *e);
