/*
 * Named volumes: storage that outlives sandboxes.
 *
 *   volumes/NAME/volume.json   what it is
 *   volumes/NAME/data/         a directory volume's files, shared live by all that mount it
 *   volumes/NAME/disk.raw      a disk volume's file system, sparse; one writer at a time (flock)
 *
 * A volume appears and disappears by rename. volumes/.lock is held shared from looking a volume up
 * until a record that names it exists, and exclusively while one is removed: so a volume cannot go
 * between the two.
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
	char *path; /* of what users see: data/ or disk.raw, absolute */
	enum volume_kind kind;
	uint64_t created_ns;
	uint64_t size_mib;  /* VOLUME_DISK */
	uint64_t quota_mib; /* VOLUME_DIR; 0: none */
};
void volume_done(struct volume *v);
#define AUTO_VOLUME __attribute__((cleanup(volume_done))) struct volume

/* What a new one shall be. */
struct volume_form {
	enum volume_kind kind;
	uint64_t size_mib;  /* VOLUME_DISK */
	uint64_t quota_mib; /* VOLUME_DIR; 0: none. Fails where the kernel would not keep it. */
};
/* ERR_EXISTS "volume already exists: NAME". A disk gets a fresh file system. */
MUST_USE int volume_create(const struct home *h, const char *name, const struct volume_form *form,
			   struct err *e);
/* Says that quotas cannot be had here, and what to do. Always -1. */
int volume_quota_missing(const struct home *h, struct err *e);
/* ERR_NOT_FOUND "volume not found: NAME". */
MUST_USE int volume_load(const struct home *h, const char *name, struct volume *ret, struct err *e);
/* What it occupies on this machine. */
uint64_t volume_used_bytes(const struct volume *v);

struct volume_list {
	struct volume *item; /* newest first; broken ones are left out */
	size_t n;
};
MUST_USE int volume_list_load(const struct home *h, struct volume_list *ret, struct err *e);
void volume_list_done(struct volume_list *l);
#define AUTO_VOLUME_LIST __attribute__((cleanup(volume_list_done))) struct volume_list

/* See above; the descriptor holds the lock. */
MUST_USE int volumes_lock(const struct home *h, bool exclusive, int *ret_fd, struct err *e);
/* Takes it out of sight and deletes it, under the exclusive lock. ERR_BUSY when a sandbox names it.
 * ERR_DENIED: out of sight, but files of a uid range need help. */
MUST_USE int volume_remove(const struct home *h, const char *name, struct err *e);
/* Lifts the quotas of all volumes, which are about to be deleted with the home. */
void volumes_release_quotas(const struct home *h);
/* Removes what dead commands left, half-made or half-deleted. */
void volumes_sweep(const struct home *h);
