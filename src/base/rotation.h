/*
 * How the ids of a user's sandbox are rotated if an ordinary user works inside.
 *
 * Usually the caller is root inside, id 0, and the other ids follow in order. If the user N works inside, the caller
 * is N instead: then files that the caller shares belong to N inside. The ids below N move up by one, and the ids above
 * N stay. With N = 0 nothing changes.
 */
#pragma once

#include <stdint.h>

struct rotation {
	uint32_t uid, gid; /* the ids inside that the caller has */
};

/* Returns the place of ID among the ids inside, in the order of the ids outside. The caller, N, has place 0. */
static inline uint32_t rotation_place(uint32_t n, uint32_t id)
{
	return id < n ? id + 1 : id == n ? 0 : id;
}
