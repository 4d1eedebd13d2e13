/* SHA-256 by OpenSSL. Layers are large, and OpenSSL uses the processor's SHA instructions. */
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
/* Writes "sha256:…" of all added bytes. Only hash_reset() and hash_done() may follow. */
void hash_end(struct hash *h, char out[DIGEST_BYTES]);
void hash_done(struct hash *h);

void hash_bytes(const void *p, size_t n, char out[DIGEST_BYTES]);
/* Hashes FD from its beginning to its end. The offset is then at the end. Returns 0 or -errno. */
MUST_USE int hash_fd(struct hash *h, int fd, uint64_t *ret_n);
