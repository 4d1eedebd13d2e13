/* SHA-256, computed by OpenSSL. Layers are large, and OpenSSL is fast because it uses the
 * processor's SHA instructions. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "image/digest.h"

struct evp_md_ctx_st;

struct hash {
	struct evp_md_ctx_st *ctx;
};

MUST_USE int hash_init(struct hash *h, struct err *e);
void hash_reset(struct hash *h);
void hash_add(struct hash *h, const void *p, size_t n);
/* Writes the digest "sha256:…" of all added bytes to OUT. After this, only hash_reset() and
 * hash_done() may be called. */
void hash_end(struct hash *h, char out[DIGEST_BYTES]);
void hash_done(struct hash *h);

void hash_bytes(const void *p, size_t n, char out[DIGEST_BYTES]);
/* Adds all bytes of the file FD to H, and sets *RET_N to their number. Afterwards the offset of FD
 * is at the end. Returns 0 or -errno. */
MUST_USE int hash_fd(struct hash *h, int fd, uint64_t *ret_n);
