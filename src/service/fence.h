/*
 * The generation fence stores the highest generation of each Workspace that the server has seen.
 *
 * A request of a lower generation is stale: another server has the Workspace now, or the Workspace
 * was restarted. A request of a higher generation advances the fence. The server then ends the
 * actions and sessions of lower generations. The fence never forgets a Workspace, so the number of
 * Workspaces must have a limit.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "service/fault.h"
#include "service/tenant.h"
#include "service/workspace_list.h"

struct fence {
	size_t max; /* the largest number of Workspaces; the calling code may change it */
	struct workspace_list workspaces;
	size_t cap;
	uint64_t *generation; /* indexed by the Workspace's number in `workspaces` */
};

enum fence_verdict {
	FENCE_CURRENT,  /* the request's generation is the highest */
	FENCE_ADVANCED, /* the request's generation is the highest from now on */
	FENCE_STALE,
	FENCE_FULL, /* the Workspace is new, and the fence already has `max` Workspaces */
};

void fence_init(struct fence *f, size_t max);
void fence_done(struct fence *f);
/* Call this when a request of the tenant *T begins. Returns FENCE_ADVANCED also for a Workspace
 * that was never seen. */
MUST_USE enum fence_verdict fence_observe(struct fence *f, const struct tenant *t);
/* Returns true if fence_observe() would return FENCE_FULL. */
bool fence_is_full(const struct fence *f, const struct tenant *t);
/* Returns the highest generation of T's Workspace, or 0 if the Workspace was never seen. */
uint64_t fence_generation(const struct fence *f, const struct tenant *t);
/* Returns true while the generation of *T is the highest that was seen. If this function returns
 * false, the server must not attach a relay and must not return the result of an action. */
bool fence_is_current(const struct fence *f, const struct tenant *t);
/* Sets the failure for FENCE_STALE or FENCE_FULL. Returns -1. */
int fence_fault(enum fence_verdict v, struct fault *f);
