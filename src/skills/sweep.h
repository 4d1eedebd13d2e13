/*
 * Rubbish that waits to be erased: packages that were deleted, and what killed workers left. Trees may be deep and
 * wide, so nobody waits for that: the worker erases a part whenever it has no request. An operation that changes a
 * store names the store here.
 */
#pragma once

#include "skills/store.h"

#define SWEEP_STORES_MAX \
	16u /* that wait at a time; one that is left out is named again by its next change */

struct sweep {
	char *tenant[SWEEP_STORES_MAX]; /* "" stands for the store without tenants */
	unsigned n;
};

void sweep_done(struct sweep *w);
void sweep_add(struct sweep *w, const char *tenant);
/* Erases a part of what is in the first store. Returns false if nothing waits. */
bool sweep_some(struct sweep *w, const struct places *p);
