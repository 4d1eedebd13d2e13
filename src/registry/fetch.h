/*
 * Blobs from a registry into the store, several at once.
 *
 * Each is checked against size and digest before it is there. A transfer that breaks goes on where
 * it stopped, in this process or in the next. A blob that another process is fetching is waited
 * for.
 */
#pragma once

#include <poll.h>

#include "base/err.h"
#include "registry/registry.h"
#include "store/store.h"

#define FETCH_PARALLEL_MAX 4u /* more from one registry is impolite, and rarely faster */

enum fetch_state { FETCH_WAITING, FETCH_RUNNING, FETCH_DONE };

struct fetch_job {
	enum fetch_state state;
	char digest[DIGEST_BYTES];
	uint64_t size_bytes, done_bytes;
	size_t endpoint;
	/* of one attempt */
	struct blob_part part; /* fd -1 while none is open */
	CURL *easy;
	bool resumed, answered, restart_tried;
	struct err write_err; /* code ERR_NONE while all is well */
	/* over all attempts */
	unsigned n_tries;
	bool authenticated;
	uint64_t not_before_ns;
};

struct fetch {
	const struct store *store;
	struct registry *registry;
	CURLM *multi;
	struct fetch_job *job;
	size_t n_jobs;
};

MUST_USE int fetch_init(struct fetch *f, const struct store *store, struct registry *r,
			struct err *e);
/* ENDPOINT is where to begin; the ones after it are tried when it fails. Call before advancing. */
void fetch_add(struct fetch *f, const char *digest, uint64_t size_bytes, size_t endpoint);
/* Does what can be done without waiting. *RET_DONE when all blobs are in the store. */
MUST_USE int fetch_advance(struct fetch *f, bool *ret_done, struct err *e);
bool fetch_has(const struct fetch *f, const char *digest);
/* Waits for a transfer or one of EXTRA, at most MS. */
void fetch_wait(struct fetch *f, struct pollfd *extra, size_t n_extra, int ms);
void fetch_done(struct fetch *f);
