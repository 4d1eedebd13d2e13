/*
 * The generation fence: the highest generation of each Workspace that was ever seen.
 *
 * A request of a lower generation is stale: its Workspace lives elsewhere now, or was restarted. A
 * request of a higher one advances the fence, and the server then cancels and deletes what the lower
 * ones left. The fence is pure state; a Workspace is never forgotten, so their number is bounded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "service/fault.h"
#include "service/roll.h"
#include "service/tenant.h"

struct fence {
	size_t max; /* Workspaces; the owner may change it */
	struct roll roll;
	size_t cap;
	uint64_t *generation; /* by number in the roll */
};

enum fence_verdict {
	FENCE_CURRENT,  /* the highest generation */
	FENCE_ADVANCED, /* it is the highest from now on: end what older ones left */
	FENCE_STALE,
	FENCE_FULL, /* a new Workspace, and there are max of them */
};

void fence_init(struct fence *f, size_t max);
void fence_done(struct fence *f);
/* A request begins. A Workspace that was never seen counts as FENCE_ADVANCED too. */
MUST_USE enum fence_verdict fence_observe(struct fence *f, const struct tenant *t);
/* The highest generation of T's Workspace; 0 if it was never seen. */
uint64_t fence_generation(const struct fence *f, const struct tenant *t);
/* True while T's generation is the highest, and was seen: a relay may be attached, and the result of an
 * action may be returned. */
bool fence_is_current(const struct fence *f, const struct tenant *t);
/* The failure for FENCE_STALE and FENCE_FULL; returns -1. */
int fence_fault(enum fence_verdict v, struct fault *f);
