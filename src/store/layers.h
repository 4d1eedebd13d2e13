/*
 * A queue of layers that must be unpacked. Several layers are unpacked at once, each by its own
 * worker.
 *
 * Processes share layers: if another process is unpacking a layer, this process waits for the
 * result. Finished trees are published together, after one syncfs(). Before a process waits for
 * another process, it publishes its own finished layers, so two processes never wait for each
 * other.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/allowance.h"
#include "store/store.h"
#include "store/worker.h"

#define LAYERS_PARALLEL_MAX 4u /* more workers would only wait for the disk */

enum layer_state { LAYER_QUEUED, LAYER_RUNNING, LAYER_UNPACKED, LAYER_READY };

/* One layer of the queue. */
struct layer_item {
	enum layer_state state;
	bool wait; /* another process is unpacking this layer */
	char digest[DIGEST_BYTES], diff_id[DIGEST_BYTES];
	uint64_t blob_bytes;
	int tmp_fd; /* the locked directory HEX.layer, in which the worker unpacks */
	struct worker worker;
	struct image_layer_info info;
};

struct layers {
	const struct store *store;
	struct layer_item *item;
	size_t n_items;
	unsigned parallel;
	struct rotation rotation; /* how the owners of files are rotated */
	char form[IMAGE_FORM_BYTES];
	/* how much the layers that are not unpacked yet may put on the disk */
	struct allowance left;
};

/* ROTATION says how the owners of files are rotated. NULL means that they are not rotated. */
void layers_init(struct layers *l, const struct store *store, const struct rotation *rotation);
/* Adds a layer whose blob is in the store. Adding the same layer twice is harmless. */
void layers_add(struct layers *l, const char *digest, const char *diff_id, uint64_t blob_bytes);
/* Starts workers, collects their results and publishes layers, as far as this is possible without
 * waiting. Sets *RET_READY to true when all layers are ready. */
MUST_USE int layers_advance(struct layers *l, bool *ret_ready, struct err *e);
/* Fills OUT with the descriptors that the calling code must poll before the next layers_advance().
 * Call layers_advance() at least every LAYERS_RETRY_MS, because other processes cannot wake us. */
size_t layers_poll(const struct layers *l, struct pollfd out[LAYERS_PARALLEL_MAX]);
#define LAYERS_RETRY_MS 50
/* Calls layers_advance() and waits, until all layers are ready. */
MUST_USE int layers_run(struct layers *l, struct err *e);
/* Kills running workers and removes unfinished trees. */
void layers_done(struct layers *l);
