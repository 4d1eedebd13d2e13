/*
 * How the ids of a user's sandbox are rotated if the commands in the sandbox do not run as root.
 *
 * "The caller" is the user who runs cordon. Usually the caller's id appears as 0 (root) in the
 * sandbox, and the other ids follow in order. If commands run as the user N, the caller's id
 * appears as N instead. In the sandbox, files that the caller shares with it then belong to the
 * user N. The ids below N move up by one, and the ids above N stay. With N = 0 nothing changes.
 */
#pragma once

#include <stdint.h>

struct rotation {
	uint32_t uid, gid; /* the caller's ids appear as these ids in the sandbox */
};

/* Returns the place of the sandbox's id ID if the sandbox's ids are sorted by the host ids that
 * stand for them. The id N stands for the caller and has place 0. */
static inline uint32_t rotation_place(uint32_t n, uint32_t id)
{
	return id < n ? id + 1 : id == n ? 0 : id;
}
