/*
 * A hash table with open addressing. Keys are parts of SHA-256 sums, so their first bytes are a hash
 * already. The table is at most half full and never loses an entry.
 */
#include "service/fence.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define FIRST_SLOTS 64 /* a power of two, like every later size */

void fence_init(struct fence *f, size_t max)
{
	*f = (struct fence){ .max = max };
}

void fence_done(struct fence *f)
{
	free(f->slot);
	*f = (struct fence){ 0 };
}

/* The slot of this key, or the free one where it would go. The table has a free slot. */
static struct fence_slot *find(const struct fence *f, const unsigned char *key)
{
	uint64_t hash;
	size_t i;

	memcpy(&hash, key, sizeof(hash));
	for (i = hash & (f->cap - 1); f->slot[i].generation; i = (i + 1) & (f->cap - 1))
		if (memcmp(f->slot[i].key, key, TENANT_KEY_BYTES) == 0)
			break;
	return &f->slot[i];
}

static void grow(struct fence *f)
{
	struct fence bigger = { .cap = f->cap ? 2 * f->cap : FIRST_SLOTS };

	bigger.slot = xcalloc(bigger.cap, sizeof(*bigger.slot));
	for (size_t i = 0; i < f->cap; i++)
		if (f->slot[i].generation)
			*find(&bigger, f->slot[i].key) = f->slot[i];
	free(f->slot);
	f->slot = bigger.slot;
	f->cap = bigger.cap;
}

enum fence_verdict fence_observe(struct fence *f, const struct tenant *t)
{
	struct fence_slot *s;

	if (2 * (f->n + 1) > f->cap)
		grow(f);
	s = find(f, t->key);
	if (s->generation > t->generation)
		return FENCE_STALE;
	if (s->generation == t->generation)
		return FENCE_CURRENT;
	if (!s->generation) {
		if (f->n >= f->max)
			return FENCE_FULL;
		f->n++;
		memcpy(s->key, t->key, sizeof(s->key));
	}
	s->generation = t->generation;
	return FENCE_ADVANCED;
}

bool fence_is_current(const struct fence *f, const struct tenant *t)
{
	return f->cap && find(f, t->key)->generation == t->generation;
}

int fence_fault(enum fence_verdict v, struct fault *f)
{
	return fault_set(f, FAULT_PERMISSION, "%s",
			 v == FENCE_FULL ? "Box generation fence capacity reached; refusing an "
					   "unbounded Workspace allocation"
					 : "Stale Box placement generation");
}
