/*
 * A queue of layers to be unpacked, several at once, each by its own worker.
 *
 * Layers are shared: one that another process is unpacking is waited for. Finished trees become
 * visible together, after one syncfs; before waiting for somebody else's layer our own finished
 * ones are handed out, so two processes never wait for each other.
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

#define LAYERS_PARALLEL_MAX 4u /* more workers than that wait for the disk */

enum layer_state { LAYER_QUEUED, LAYER_RUNNING, LAYER_UNPACKED, LAYER_READY };

struct layer_job {
	enum layer_state state;
	bool wait; /* somebody else is at it */
	char digest[DIGEST_BYTES], diff_id[DIGEST_BYTES];
	uint64_t blob_bytes;
	int tmp_fd; /* HEX.layer, locked */
	struct worker worker;
	struct image_layer_info info;
};

struct layers {
	const struct store *store;
	struct layer_job *job;
	size_t n_jobs;
	unsigned parallel;
	struct allowance left; /* after the layers that are ready or unpacked */
};

void layers_init(struct layers *l, const struct store *store);
/* The blob must be in the store. The same layer may be added twice. */
void layers_add(struct layers *l, const char *digest, const char *diff_id, uint64_t blob_bytes);
/* Starts, collects and publishes what can be without waiting. *RET_READY when all are. */
MUST_USE int layers_advance(struct layers *l, bool *ret_ready, struct err *e);
/* What to poll until there is something to advance; retry every LAYERS_RETRY_MS besides. */
size_t layers_poll(const struct layers *l, struct pollfd out[LAYERS_PARALLEL_MAX]);
#define LAYERS_RETRY_MS 50
/* Until all are ready. */
MUST_USE int layers_run(struct layers *l, struct err *e);
/* Kills what runs and removes what is not whole. */
void layers_done(struct layers *l);
