/*
 * Counts the memory in which pid 1 keeps things for clients and commands: background commands with
 * their output, input and reports, and the state blob (guest/state_blob.h). The sandbox's memory
 * limit does not apply to pid 1, so the pool has its own limit. The pool holds no memory. Code that
 * wants to keep something first takes the bytes from the pool, and gives them back when it frees
 * the memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define POOL_BYTES (32u << 20)
#define POOL_REFUSAL "background commands and the state take all of their 32 MiB"

struct pool {
	size_t used;
};

/* Takes N bytes. If fewer bytes are left, takes nothing and returns false. */
static inline bool pool_take(struct pool *p, size_t n)
{
	if (n > POOL_BYTES - p->used)
		return false;
	p->used += n;
	return true;
}

static inline void pool_give(struct pool *p, size_t n)
{
	p->used -= n;
}
