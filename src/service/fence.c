#include "service/fence.h"

#include <stdlib.h>

void fence_init(struct fence *f, size_t max)
{
	*f = (struct fence){ .max = max };
}

void fence_done(struct fence *f)
{
	workspace_list_done(&f->workspaces);
	free(f->generation);
	*f = (struct fence){ 0 };
}

uint64_t fence_generation(const struct fence *f, const struct tenant *t)
{
	size_t at = workspace_list_find(&f->workspaces, t->key);

	return at == WORKSPACE_UNKNOWN ? 0 : f->generation[at];
}

bool fence_is_full(const struct fence *f, const struct tenant *t)
{
	return !fence_generation(f, t) && f->workspaces.n >= f->max;
}

enum fence_verdict fence_observe(struct fence *f, const struct tenant *t)
{
	uint64_t highest = fence_generation(f, t);
	size_t at;

	if (highest >= t->generation)
		return highest == t->generation ? FENCE_CURRENT : FENCE_STALE;
	if (fence_is_full(f, t))
		return FENCE_FULL;
	at = highest ? workspace_list_find(&f->workspaces, t->key)
		     : workspace_list_add(&f->workspaces, t->key);
	f->generation =
		workspace_list_grow_items(f->generation, &f->cap, at, sizeof(*f->generation));
	f->generation[at] = t->generation;
	return FENCE_ADVANCED;
}

bool fence_is_current(const struct fence *f, const struct tenant *t)
{
	return fence_generation(f, t) == t->generation;
}

int fence_fault(enum fence_verdict v, struct fault *f)
{
	return fault_set(f, FAULT_PERMISSION, "%s",
			 v == FENCE_FULL ? "Box generation fence capacity reached; refusing an "
					   "unbounded Workspace allocation"
					 : "Stale Box placement generation");
}
