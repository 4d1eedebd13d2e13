/*
 * Content that no reference and no sandbox leads to any more leaves the store.
 *
 * Needs the store's lock exclusively: whoever adds content, or makes a sandbox of it, holds it
 * shared until the record that refers to it is written.
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

/* PARTS also takes what interrupted pulls left to be resumed. */
MUST_USE int sweep(const struct store *store, bool parts, struct sweep_result *ret, struct err *e);
/* Forgets every reference that no sandbox uses; adds to RET. */
MUST_USE int sweep_references(const struct store *store, struct sweep_result *ret, struct err *e);
