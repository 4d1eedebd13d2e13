/*
 * A list of the stores that may have rubbish. Rubbish is deleted packages, and packages that killed
 * workers left. Erasing a large tree takes long, so no request waits until a tree is erased. The
 * worker erases a part of the rubbish whenever no request is waiting. An operation that changes a
 * store adds the store to this list.
 */
#pragma once

#include "skills/store.h"

/* The length of the list. If the list is full, sweep_add() does not add the store. Then the rubbish
 * stays until a later change of the store adds the store to the list. */
#define SWEEP_STORES_MAX 16u

struct sweep {
	char *tenant[SWEEP_STORES_MAX]; /* "" means the store for peers without tenants */
	unsigned n;
};

void sweep_done(struct sweep *w);
void sweep_add(struct sweep *w, const char *tenant);
/* Erases a part of the rubbish in the first store of the list. Returns false if the list is
 * empty. */
bool sweep_some(struct sweep *w, const struct places *p);
