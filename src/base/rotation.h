/*
 * How the ids of a user's sandbox are rotated if the commands in the sandbox do not run as root.
 *
 * "The caller" is the user who runs cordon. Usually the caller's id appears as 0 (root) in the
 * sandbox, and the other ids follow in order. If commands run as the user N, the caller's id
 * appears as N instead. Then files that the caller shares with the sandbox belong to the user N
 * inside. Each id below N then stands for the host id that the next id usually stands for. The ids
 * above N do not change. With N = 0 nothing changes.
 */
#pragma once

#include <stdint.h>

struct rotation {
	uint32_t uid, gid; /* the caller's ids appear as these ids in the sandbox */
};

/* The host ids of the sandbox have places: place 0 is the caller's own id, and the places from 1 on
 * are the ids of the caller's range, in order. Returns the place of the host id that appears as ID
 * in the sandbox. For example, with N = 1000 the id 1000 has place 0, the id 0 has place 1, the id
 * 999 has place 1000, and the id 1001 has place 1001. */
static inline uint32_t rotation_place(uint32_t n, uint32_t id)
{
	return id < n ? id + 1 : id == n ? 0 : id;
}
