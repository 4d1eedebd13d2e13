/*
 * A ceiling is one limit for all memory that peers and payloads can make a server use.
 *
 * Each part of the server that stores data of peers or payloads takes bytes from the ceiling before
 * it allocates memory, and gives the bytes back after it has freed the memory. Most parts get a
 * large number of bytes only if this number is at most an eighth of what is left. So one noisy
 * command or one long message leaves memory for the others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CEILING_DEFAULT_BYTES ((size_t)512 << 20)
/* a holding may grow by this much if enough is left */
#define CEILING_SMALL_BYTES ((size_t)64 << 10)

struct ceiling {
	size_t max, used; /* bytes */
	/* Called when more bytes are needed than are left. The function makes some part of the
	 * server give bytes back and returns true. It returns false if no part can do so.
	 * `relieve` may be NULL. */
	bool (*relieve)(void *arg);
	void *arg;
};

size_t ceiling_left(const struct ceiling *c);
/* Takes N bytes. If fewer bytes are left and `relieve` does not help, takes nothing and returns
 * false. */
bool ceiling_take(struct ceiling *c, size_t n);
/* Works like ceiling_take(), for code that can go on without these bytes. Also returns false if N
 * is more than an eighth of what is left. */
bool ceiling_take_share(struct ceiling *c, size_t n);
void ceiling_give(struct ceiling *c, size_t n);

/* What one part of the server has taken. */
struct holding {
	struct ceiling *ceiling; /* borrowed; must be set before holding_set() */
	size_t bytes;
};

/* Changes the holding *H to N bytes. A growth by at most CEILING_SMALL_BYTES succeeds if enough is
 * left. A larger growth succeeds if it is at most an eighth of what is left. Otherwise returns
 * false, and *H stays as it was. */
bool holding_set(struct holding *h, size_t n);
void holding_done(struct holding *h);
