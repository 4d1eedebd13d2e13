/*
 * One ceiling for the memory that peers and payloads make a server hold.
 *
 * A holder takes bytes here before it keeps them, and gives them back later. Whatever is large may only take a part of what
 * is left, so that one noisy command or one long message does not leave the others without any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CEILING_DEFAULT_BYTES ((size_t)512 << 20)
#define CEILING_SMALL_BYTES \
	((size_t)64 << 10) /* up to here a holding grows as long as anything is left */

struct ceiling {
	size_t max, used; /* bytes */
	/* Called when less is left than a holder needs. The function makes some holder give bytes back and returns true, or
	 * returns false if it cannot. NULL: nothing can be given back. */
	bool (*relieve)(void *arg);
	void *arg;
};

/* Bytes that are left. */
size_t ceiling_left(const struct ceiling *c);
/* Returns false, and takes nothing, if less than N is left and no relief helps. */
bool ceiling_take(struct ceiling *c, size_t n);
/* The same for holders that can do with less: returns false also if N is more than an eighth of what is left. */
bool ceiling_take_share(struct ceiling *c, size_t n);
void ceiling_give(struct ceiling *c, size_t n);

/* What one holder has taken. */
struct holding {
	struct ceiling *ceiling; /* borrowed; NULL: nothing is held */
	size_t bytes;
};

/* From now on H is N bytes. Returns false, and H stays as it was, if it would grow by more than it may: by more than
 * CEILING_SMALL_BYTES and an eighth of what is left, or by more than is left. */
bool holding_set(struct holding *h, size_t n);
void holding_done(struct holding *h);
