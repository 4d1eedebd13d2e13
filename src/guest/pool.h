/*
 * The memory that clients and commands have pid 1 keep: background commands with their output, input and reports,
 * and the state blob. Pid 1 is outside of the sandbox's memory limit, so all of it together has one bound. Whoever
 * wants to keep something takes its bytes here first, and gives them back when the memory is freed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define POOL_BYTES (32u << 20)
#define POOL_REFUSAL "background commands and the state take all of their 32 MiB"

struct pool {
	size_t used;
};

/* False: they would be too many, and nothing is taken. */
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
