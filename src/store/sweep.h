/*
 * Sweeps the store: erases content that no reference and no sandbox uses.
 *
 * The caller holds the store's lock exclusively. A process that adds an image or creates a sandbox
 * holds a shared lock until the record that names the content is written.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/store.h"

struct sweep_result {
	uint64_t bytes_reclaimed;
	size_t layers_removed, manifests_removed, references_removed;
};

/* If PARTS is true, also erases the partial blobs of interrupted pulls. */
MUST_USE int sweep(const struct store *store, bool parts, struct sweep_result *ret, struct err *e);
/* Erases every reference that no sandbox uses, and counts the erased references in *RET. */
MUST_USE int sweep_references(const struct store *store, struct sweep_result *ret, struct err *e);
