/*
 * The image store as writers see it (image/store.h has the layout and the rule of renames).
 *
 * Work in progress lies in cache/tmp and is guarded by flock on itself: HEX.part is a blob being
 * fetched, HEX.layer a tree being unpacked, HEX.flat a disk being filled, load-XXXX an archive being
 * read. What nobody locks is
 * left over from a crash: parts are resumed, the rest is removed by the next writer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "image/store.h"
#include "store/hash.h"

struct store {
	int home_fd, cache_fd, tmp_fd, blobs_fd, layers_fd, images_fd, flat_fd;
	int lock_fd; /* cache/lock: shared while we add, so nothing of ours is swept away */
};
#define STORE_INIT                             \
	{                                      \
		-1, -1, -1, -1, -1, -1, -1, -1 \
	}

/* HOME must exist. Makes what is missing in it, takes the lock shared and clears away what crashed
 * writers left. */
MUST_USE int store_open(const char *home, struct store *store, struct err *e);
/* Turns the lock into an exclusive one, or not when others hold it. */
bool store_try_exclusive(const struct store *store);
void store_done(struct store *store);

bool store_has_blob(const struct store *store, const char *digest, uint64_t size_bytes);
bool store_has_layer(const struct store *store, const char *digest);
/* The whole of a small blob, which must have that digest. */
MUST_USE int store_read_blob(const struct store *store, const char *digest, struct buf *b,
			     struct err *e);
MUST_USE int store_put_blob(const struct store *store, const void *p, size_t n,
			    char ret[DIGEST_BYTES], struct err *e);
/* Takes the file DIR_FD/NAME in as a blob. Fails when WANT is not NULL and not its digest. */
MUST_USE int store_adopt_blob(const struct store *store, int dir_fd, const char *name,
			      const char *want, char ret[DIGEST_BYTES], uint64_t *ret_size,
			      struct err *e);
MUST_USE int store_put_record(const struct store *store, const struct image_record *r,
			      struct err *e);
/* Removes tmp/NAME by a worker, since its files may belong to anybody. */
MUST_USE int store_remove_tmp(const struct store *store, const char *name, struct err *e);

/* A blob on its way in. Hashed as it comes; what a broken transfer left is used again. */
struct blob_part {
	int fd;
	struct hash hash;
	uint64_t n; /* bytes so far */
	char digest[DIGEST_BYTES];
};

/* *RET_BUSY when another process is fetching this very blob. */
MUST_USE int blob_part_open(const struct store *store, const char *digest, struct blob_part *ret,
			    bool *ret_busy, struct err *e);
MUST_USE int blob_part_write(struct blob_part *p, const void *data, size_t n, struct err *e);
/* Forgets what is there and begins again. */
MUST_USE int blob_part_restart(struct blob_part *p, struct err *e);
/* Checks size and digest; a part that fails is removed, so the next try starts clean. */
MUST_USE int blob_part_commit(const struct store *store, struct blob_part *p, uint64_t size_bytes,
			      struct err *e);
/* Closes without committing: the part stays for the next try. */
void blob_part_done(struct blob_part *p);
