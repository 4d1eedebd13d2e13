/*
 * The functions with which processes write to the image store (image/store.h describes its layout).
 *
 * Unfinished content is in cache/tmp. The process that works on an entry of this directory holds a
 * lock on it (flock). HEX.part is a blob that is being fetched, HEX.layer is a tree that is being
 * unpacked, HEX.flat is a disk that is being filled, and load-XXXX is an archive that is being
 * read. An entry that nobody has locked is a leftover of a crash; a HEX.part can also be the
 * leftover of a transfer that broke. The next writer removes leftover directories. A later pull of
 * the same blob continues with HEX.part. `prune` removes the files in cache/tmp.
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
	/* the file cache/lock; we hold a shared lock on it while we add content, so that no sweep
	 * removes the content */
	int lock_fd;
};
#define STORE_INIT                             \
	{                                      \
		-1, -1, -1, -1, -1, -1, -1, -1 \
	}

/* HOME must exist. Makes missing directories in HOME, takes the shared lock and removes what
 * crashed writers left. */
MUST_USE int store_open(const char *home, struct store *store, struct err *e);
/* Tries to make the lock exclusive. Returns false if other processes hold the lock. */
bool store_try_exclusive(const struct store *store);
void store_done(struct store *store);

bool store_has_blob(const struct store *store, const char *digest, uint64_t size_bytes);
/* FORM is "" for the layer with its usual owners, or a name from image_form_name() for the layer
 * with rotated owners. */
bool store_has_layer(const struct store *store, const char *digest, const char *form);
/* Reads a small blob whole and checks its digest. */
MUST_USE int store_read_blob(const struct store *store, const char *digest, struct buf *b,
			     struct err *e);
MUST_USE int store_put_blob(const struct store *store, const void *p, size_t n,
			    char ret[DIGEST_BYTES], struct err *e);
/* Moves the file DIR_FD/NAME into the store as a blob. If WANT is not NULL, fails if the digest of
 * the file is not WANT. */
MUST_USE int store_adopt_blob(const struct store *store, int dir_fd, const char *name,
			      const char *want, char ret[DIGEST_BYTES], uint64_t *ret_size,
			      struct err *e);
MUST_USE int store_put_record(const struct store *store, const struct image_record *r,
			      struct err *e);
/* Opens the directory cache/tmp/NAME and locks it. *RET_FD becomes the descriptor, which holds the
 * lock. If another process holds the lock, or has removed or renamed the directory meanwhile,
 * *RET_FD becomes -1. */
MUST_USE int store_lock_tmp(const struct store *store, const char *name, int *ret_fd,
			    struct err *e);
/* Removes cache/tmp/NAME. A worker does this, because the files may belong to any id. */
MUST_USE int store_erase_tmp(const struct store *store, const char *name, struct err *e);

/* A blob that is being fetched. We hash the blob while its bytes arrive. If a transfer breaks, the
 * next transfer continues with the part that arrived. */
struct blob_part {
	int fd;
	struct hash hash;
	uint64_t n; /* bytes so far */
	char digest[DIGEST_BYTES];
};

/* Opens the part of a blob. If another process is fetching the same blob, sets *RET_BUSY to true
 * and does not set *RET. */
MUST_USE int blob_part_open(const struct store *store, const char *digest, struct blob_part *ret,
			    bool *ret_busy, struct err *e);
MUST_USE int blob_part_write(struct blob_part *p, const void *data, size_t n, struct err *e);
/* Empties the part and starts over. */
MUST_USE int blob_part_restart(struct blob_part *p, struct err *e);
/* Checks the size and the digest, and moves the blob to its place in the store. A part with wrong
 * content is removed, so that the next try starts from the beginning. */
MUST_USE int blob_part_commit(const struct store *store, struct blob_part *p, uint64_t size_bytes,
			      struct err *e);
/* Closes the part without committing it. The part stays for the next try. */
void blob_part_done(struct blob_part *p);
