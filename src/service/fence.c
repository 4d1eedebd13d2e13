#include "service/fence.h"

#include <stdlib.h>

void fence_init(struct fence *f, size_t max)
{
	*f = (struct fence){ .max = max };
}

void fence_done(struct fence *f)
{
	roll_done(&f->roll);
	free(f->generation);
	*f = (struct fence){ 0 };
}

uint64_t fence_generation(const struct fence *f, const struct tenant *t)
{
	size_t at = roll_find(&f->roll, t->key);

	return at == ROLL_UNKNOWN ? 0 : f->generation[at];
}

enum fence_verdict fence_observe(struct fence *f, const struct tenant *t)
{
	uint64_t highest = fence_generation(f, t);
	size_t at;

	if (highest >= t->generation)
		return highest == t->generation ? FENCE_CURRENT : FENCE_STALE;
	if (!highest && f->roll.n >= f->max)
		return FENCE_FULL;
	at = highest ? roll_find(&f->roll, t->key) : roll_add(&f->roll, t->key);
	f->generation = roll_room(f->generation, &f->cap, at, sizeof(*f->generation));
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
