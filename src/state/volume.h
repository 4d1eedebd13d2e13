/*
 * Named volumes: storage that outlives sandboxes.
 *
 *   volumes/NAME/volume.json   kind, size and quota
 *   volumes/NAME/data/         the files of a directory volume; all sandboxes that mount it share
 *                              them
 *   volumes/NAME/disk.raw      the file system of a disk volume, sparse; one writer at a time
 *                              (flock)
 *
 * A rename makes a volume appear or disappear. A command that uses a volume takes a shared lock on
 * volumes/.lock before it looks for the volume, and keeps the lock until a record names the volume.
 * A command that removes a volume takes the lock exclusively. So a volume that was found cannot
 * disappear before a record names it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "state/home.h"

#define VOLUME_FORMAT 1

enum volume_kind { VOLUME_DIR, VOLUME_DISK };
const char *volume_kind_name(enum volume_kind k); /* "dir", "disk" */

struct volume {
	char *name;
	char *path; /* absolute path of data/ or disk.raw */
	enum volume_kind kind;
	uint64_t created_ns;
	uint64_t size_mib;  /* only of VOLUME_DISK */
	uint64_t quota_mib; /* only of VOLUME_DIR; 0: no quota */
};
void volume_done(struct volume *v);
#define AUTO_VOLUME __attribute__((cleanup(volume_done))) struct volume

/* Parameters of a new volume. */
struct volume_form {
	enum volume_kind kind;
	uint64_t size_mib; /* only of VOLUME_DISK */
	/* Only of VOLUME_DIR. 0 means no quota. volume_create() fails if the host cannot enforce
	 * the quota. */
	uint64_t quota_mib;
};
/* Makes a volume; a disk gets a new file system. Fails with ERR_EXISTS "volume already exists:
 * NAME". */
MUST_USE int volume_create(const struct home *h, const char *name, const struct volume_form *form,
			   struct err *e);
/* Fills *E with the message that quotas cannot be enforced in this home, and says what the user can
 * do. Always returns -1. */
int volume_quota_missing(const struct home *h, struct err *e);
/* Reads volume.json of the volume NAME. If there is none, fails with ERR_NOT_FOUND "volume not
 * found: NAME". */
MUST_USE int volume_load(const struct home *h, const char *name, struct volume *ret, struct err *e);
/* Returns the disk space that the volume occupies. */
uint64_t volume_used_bytes(const struct volume *v);

struct volume_list {
	struct volume *item; /* newest first; damaged volumes are left out */
	size_t n;
};
MUST_USE int volume_list_load(const struct home *h, struct volume_list *ret, struct err *e);
void volume_list_done(struct volume_list *l);
#define AUTO_VOLUME_LIST __attribute__((cleanup(volume_list_done))) struct volume_list

/* Takes volumes/.lock. *RET_FD holds the lock. */
MUST_USE int volumes_lock(const struct home *h, bool exclusive, int *ret_fd, struct err *e);
/* Gives the volume a hidden name under the exclusive lock. Then releases the lock and erases the
 * volume. Fails with ERR_BUSY if the record of a sandbox names the volume. Fails with ERR_DENIED if
 * this process may not delete some files, because they belong to a sandbox's range of ids. In this
 * case the volume is hidden, but not erased. */
MUST_USE int volume_remove(const struct home *h, const char *name, struct err *e);
/* Removes the quotas of all volumes. Call this before the volumes are erased together with the
 * home. */
void volumes_release_quotas(const struct home *h);
/* Erases volumes that killed commands left half-made or half-erased. */
void volumes_sweep(const struct home *h);
