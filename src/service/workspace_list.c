/*
 * A hash table with open addressing. Keys are parts of SHA-256 sums, so their first bytes already
 * are a hash. The table is at most half full and never loses an entry.
 */
#include "service/workspace_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define FIRST_SLOTS 64 /* a power of two, like every later size */

struct workspace_slot {
	unsigned char key[TENANT_KEY_BYTES];
	uint32_t number; /* the Workspace's number plus one, or 0 if the slot is free */
};

void workspace_list_done(struct workspace_list *w)
{
	free(w->slot);
	*w = (struct workspace_list){ 0 };
}

/* Returns the slot of this key, or the free slot into which a new entry for this key must go. The
 * table always has a free slot. */
static struct workspace_slot *find(const struct workspace_list *w, const unsigned char *key)
{
	uint64_t hash;
	size_t i;

	memcpy(&hash, key, sizeof(hash));
	for (i = hash & (w->cap - 1); w->slot[i].number; i = (i + 1) & (w->cap - 1))
		if (memcmp(w->slot[i].key, key, TENANT_KEY_BYTES) == 0)
			break;
	return &w->slot[i];
}

size_t workspace_list_find(const struct workspace_list *w,
			   const unsigned char key[TENANT_KEY_BYTES])
{
	struct workspace_slot *s = w->cap ? find(w, key) : NULL;

	return s && s->number ? s->number - 1 : WORKSPACE_UNKNOWN;
}

static void grow(struct workspace_list *w)
{
	struct workspace_list bigger = { .cap = w->cap ? 2 * w->cap : FIRST_SLOTS };

	bigger.slot = xcalloc(bigger.cap, sizeof(*bigger.slot));
	for (size_t i = 0; i < w->cap; i++)
		if (w->slot[i].number)
			*find(&bigger, w->slot[i].key) = w->slot[i];
	free(w->slot);
	w->slot = bigger.slot;
	w->cap = bigger.cap;
}

size_t workspace_list_add(struct workspace_list *w, const unsigned char key[TENANT_KEY_BYTES])
{
	struct workspace_slot *s;

	if (2 * (w->n + 1) > w->cap)
		grow(w);
	s = find(w, key);
	memcpy(s->key, key, TENANT_KEY_BYTES);
	s->number = (uint32_t)++w->n;
	return w->n - 1;
}

void *workspace_list_grow_items(void *items, size_t *cap, size_t at, size_t item_bytes)
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
