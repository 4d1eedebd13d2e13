/*
 * Fetches blobs from a registry into the store, several at once.
 *
 * A blob appears in the store only after its size and digest were checked. A broken transfer is
 * resumed, by this process or by a later one. If another process is fetching the same blob, we wait
 * for that process.
 */
#pragma once

#include <poll.h>

#include "base/err.h"
#include "registry/registry.h"
#include "store/store.h"

/* more transfers at once are a load for the registry and are rarely faster */
#define FETCH_PARALLEL_MAX 4u

enum fetch_state { FETCH_WAITING, FETCH_RUNNING, FETCH_DONE };

/* One blob that is fetched. */
struct fetch_item {
	enum fetch_state state;
	char digest[DIGEST_BYTES];
	uint64_t size_bytes, done_bytes;
	size_t endpoint;
	/* these members describe the current attempt; only restart_tried stays set in later
	 * attempts */
	struct blob_part part; /* part.fd is -1 while no part is open */
	CURL *easy;
	bool resumed, answered, restart_tried;
	struct err write_err; /* its code is ERR_NONE if no write has failed */
	/* these members hold for all attempts at the same endpoint */
	unsigned n_tries;
	bool authenticated;
	uint64_t not_before_ns;
};

struct fetch {
	const struct store *store;
	struct registry *registry;
	CURLM *multi;
	struct fetch_item *item;
	size_t n_items;
};

MUST_USE int fetch_init(struct fetch *f, const struct store *store, struct registry *r,
			struct err *e);
/* Adds a blob. The endpoint number ENDPOINT is asked first, then the endpoints after that one. Add
 * all blobs before the first call of fetch_advance(). */
void fetch_add(struct fetch *f, const char *digest, uint64_t size_bytes, size_t endpoint);
/* Does all work that is possible without waiting. Sets *RET_DONE to true when all blobs are in the
 * store. */
MUST_USE int fetch_advance(struct fetch *f, bool *ret_done, struct err *e);
bool fetch_has(const struct fetch *f, const char *digest);
/* Waits at most MS milliseconds until a transfer or a descriptor of EXTRA is ready. */
void fetch_wait(struct fetch *f, struct pollfd *extra, size_t n_extra, int ms);
void fetch_done(struct fetch *f);
