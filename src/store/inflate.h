/*
 * Reads a blob and decompresses it to a plain tar. gzip and zstd are recognised by their first
 * bytes. All other data is passed on unchanged. The digest of the plain bytes (diff_id) is computed
 * at the same time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "image/store.h"
#include "store/hash.h"

/* The plain tar of one layer may not be larger than this. It is twice the size of the largest blob
 * that we accept. */
#define LAYER_PLAIN_MAX_BYTES (128ull << 30)
/* A plain tar may have 256 MiB plus 200 times the size of its blob. Real layers stay below that. A
 * gzip bomb can reach 1000 times the size of its blob, and a zstd bomb a million times. */
#define LAYER_RATIO_MAX 200u
#define LAYER_RATIO_FREE_BYTES (256ull << 20)

struct archive;

struct inflate {
	struct archive *reader;
	struct hash hash;
	uint64_t n;      /* plain bytes so far */
	uint64_t max_n;  /* reading fails beyond this number of bytes */
	const char *why; /* the reason for max_n, for the message */
	bool ended;
};

/* BLOB_BYTES is the length of the blob, from which the limit is computed. 0 means that the length
 * is unknown. */
MUST_USE int inflate_open(struct inflate *p, int fd, uint64_t blob_bytes, struct err *e);
/* Sets *RET to the next piece, which is valid until the next call. At the end *RET_N is 0. */
MUST_USE int inflate_read(struct inflate *p, const void **ret, size_t *ret_n, struct err *e);
void inflate_done(struct inflate *p);

/* The worker `inflate` (store/worker.h): decompresses stdin to stdout. Does not use ARG and
 * OWNERS. */
int inflate_run(const char *arg, enum layer_owners owners, struct json_writer *reply,
		struct err *e);
