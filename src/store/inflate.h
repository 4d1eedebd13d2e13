/*
 * A blob as the plain tar it holds: gzip and zstd are recognised by their first bytes, everything
 * else passes as it is. The digest of the plain bytes (diff_id) is computed on the way.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "image/store.h"
#include "store/hash.h"

#define LAYER_PLAIN_MAX_BYTES (128ull << 30) /* of one layer: twice the largest blob we accept */
/* What real layers never reach: 200 times the blob's size, counted beyond 256 MiB. gzip can do
 * 1000, zstd a million. */
#define LAYER_RATIO_MAX 200u
#define LAYER_RATIO_FREE_BYTES (256ull << 20)

struct archive;

struct inflate {
	struct archive *reader;
	struct hash hash;
	uint64_t n;      /* plain bytes so far */
	uint64_t max_n;  /* a bomb beyond this, */
	const char *why; /* because this is so */
	bool ended;
};

/* BLOB_BYTES is the length of what FD gives, for the bomb's sake; 0 when unknown. */
MUST_USE int inflate_open(struct inflate *p, int fd, uint64_t blob_bytes, struct err *e);
/* The next piece, valid until the next call; *RET_N is 0 at the end. */
MUST_USE int inflate_read(struct inflate *p, const void **ret, size_t *ret_n, struct err *e);
void inflate_done(struct inflate *p);

/* The worker `inflate`. */
int inflate_run(const char *arg, enum layer_owners owners, struct json_writer *reply,
		struct err *e);
