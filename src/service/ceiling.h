/*
 * One ceiling for the memory that peers and payloads make a server hold.
 *
 * Whoever holds such memory takes it here first and gives it back. What is nearly used up is shared:
 * nobody may take more than a part of what is left, so that one noisy command does not leave the
 * others without any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CEILING_DEFAULT_BYTES ((size_t)512 << 20)

struct ceiling {
	size_t max, used; /* bytes */
};

/* Bytes that are left. */
size_t ceiling_left(const struct ceiling *c);
/* False, and nothing is taken, when less than N is left. */
bool ceiling_take(struct ceiling *c, size_t n);
/* The same for holders that can do with less: false also when N is more than an eighth of what is left. */
bool ceiling_take_share(struct ceiling *c, size_t n);
void ceiling_give(struct ceiling *c, size_t n);
