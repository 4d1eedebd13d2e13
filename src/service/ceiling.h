/*
 * One ceiling for the memory that peers and payloads make a server hold.
 *
 * A holder takes bytes from the ceiling before it allocates memory, and gives the bytes back when the memory is free. A
 * large holding may take only a part of what is left, so that one noisy command or one long message leaves memory for
 * the others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CEILING_DEFAULT_BYTES ((size_t)512 << 20)
#define CEILING_SMALL_BYTES \
	((size_t)64 << 10) /* a holding may grow by this much as long as enough is left */

struct ceiling {
	size_t max, used; /* bytes */
	/* Called when a holder needs more bytes than are left. Makes another holder give bytes back and returns true, or
	 * returns false if no holder can. May be NULL. */
	bool (*relieve)(void *arg);
	void *arg;
};

size_t ceiling_left(const struct ceiling *c);
/* Takes N bytes. Returns false, and takes nothing, if fewer are left and `relieve` does not help. */
bool ceiling_take(struct ceiling *c, size_t n);
/* Works like ceiling_take(), for holders that can work with less. Also returns false if N is more than an eighth of what
 * is left. */
bool ceiling_take_share(struct ceiling *c, size_t n);
void ceiling_give(struct ceiling *c, size_t n);

/* What one holder has taken. */
struct holding {
	struct ceiling *ceiling; /* borrowed; NULL if nothing is held */
	size_t bytes;
};

/* Makes H hold N bytes. Growth by at most CEILING_SMALL_BYTES succeeds if enough is left. Larger growth succeeds if
 * it is at most an eighth of what is left. Otherwise returns false, and H stays as it was. */
bool holding_set(struct holding *h, size_t n);
void holding_done(struct holding *h);
