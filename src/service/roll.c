/*
 * A hash table with open addressing. Keys are parts of SHA-256 sums, so their first bytes already are a hash. The table
 * is at most half full and never loses an entry.
 */
#include "service/roll.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define FIRST_SLOTS 64 /* a power of two, like every later size */

struct roll_slot {
	unsigned char key[TENANT_KEY_BYTES];
	uint32_t number; /* the Workspace's number plus one, or 0 if the slot is free */
};

void roll_done(struct roll *r)
{
	free(r->slot);
	*r = (struct roll){ 0 };
}

/* Returns the slot of this key, or the free slot into which a new entry for this key must go. The
 * table always has a free slot. */
static struct roll_slot *find(const struct roll *r, const unsigned char *key)
{
	uint64_t hash;
	size_t i;

	memcpy(&hash, key, sizeof(hash));
	for (i = hash & (r->cap - 1); r->slot[i].number; i = (i + 1) & (r->cap - 1))
		if (memcmp(r->slot[i].key, key, TENANT_KEY_BYTES) == 0)
			break;
	return &r->slot[i];
}

size_t roll_find(const struct roll *r, const unsigned char key[TENANT_KEY_BYTES])
{
	struct roll_slot *s = r->cap ? find(r, key) : NULL;

	return s && s->number ? s->number - 1 : ROLL_UNKNOWN;
}

static void grow(struct roll *r)
{
	struct roll bigger = { .cap = r->cap ? 2 * r->cap : FIRST_SLOTS };

	bigger.slot = xcalloc(bigger.cap, sizeof(*bigger.slot));
	for (size_t i = 0; i < r->cap; i++)
		if (r->slot[i].number)
			*find(&bigger, r->slot[i].key) = r->slot[i];
	free(r->slot);
	r->slot = bigger.slot;
	r->cap = bigger.cap;
}

size_t roll_add(struct roll *r, const unsigned char key[TENANT_KEY_BYTES])
{
	struct roll_slot *s;

	if (2 * (r->n + 1) > r->cap)
		grow(r);
	s = find(r, key);
	memcpy(s->key, key, TENANT_KEY_BYTES);
	s->number = (uint32_t)++r->n;
	return r->n - 1;
}

void *roll_room(void *items, size_t *cap, size_t at, size_t item_bytes)
{
	size_t bigger = *cap ? *cap : FIRST_SLOTS;
	char *p;

	if (at < *cap)
		return items;
	while (bigger <= at)
		bigger *= 2;
	p = xcalloc(bigger, item_bytes);
	if (*cap)
		memcpy(p, items, *cap * item_bytes);
	free(items);
	*cap = bigger;
	return p;
}
