/* A hash table with open addressing. Entries are never removed. */
#include "tree/inodes.h"

#include <stdlib.h>

#include "base/cleanup.h"

#define ROOM_FIRST 256u

struct inode_slot {
	dev_t dev;
	ino_t ino;
	uint32_t number;
	bool used;
};

void inodes_done(struct inodes *s)
{
	free(s->slot);
	*s = (struct inodes){ 0 };
}

/* Returns the slot of the inode, or the free slot where it belongs. The table is never full. */
static struct inode_slot *slot_of(const struct inodes *s, dev_t dev, ino_t ino)
{
	uint64_t hash = ((uint64_t)ino ^ (uint64_t)dev << 40) * 0x9e3779b97f4a7c15ull;
	uint32_t at = (uint32_t)(hash >> 32);

	for (;; at++) {
		struct inode_slot *slot = &s->slot[at & (s->room - 1)];

		if (!slot->used || (slot->ino == ino && slot->dev == dev))
			return slot;
	}
}

static void grow(struct inodes *s)
{
	struct inodes larger = { .n = s->n, .room = s->room ? 2 * s->room : ROOM_FIRST };

	larger.slot = xcalloc(larger.room, sizeof(*larger.slot));
	for (uint32_t i = 0; i < s->room; i++)
		if (s->slot[i].used)
			*slot_of(&larger, s->slot[i].dev, s->slot[i].ino) = s->slot[i];
	free(s->slot);
	*s = larger;
}

bool inodes_find(const struct inodes *s, dev_t dev, ino_t ino, uint32_t *ret_number)
{
	const struct inode_slot *slot = s->room ? slot_of(s, dev, ino) : NULL;

	if (!slot || !slot->used)
		return false;
	*ret_number = slot->number;
	return true;
}

void inodes_add(struct inodes *s, dev_t dev, ino_t ino)
{
	if (2 * (s->n + 1) > s->room)
		grow(s);
	*slot_of(s, dev, ino) =
		(struct inode_slot){ .dev = dev, .ino = ino, .number = s->n++, .used = true };
}
