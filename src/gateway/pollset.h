/* The descriptors and the deadline of one turn of the loop. libslirp needs a new set for each
 * turn. */
#pragma once

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct pollset {
	struct pollfd *fd;
	size_t n, cap;
	uint64_t wake_ns; /* absolute; UINT64_MAX for no deadline */
};

/* Adds a descriptor. Returns the index at which its result will be. */
static inline size_t pollset_add(struct pollset *p, int fd, short events)
{
	if (p->n == p->cap) {
		p->cap = p->cap ? 2 * p->cap : 64;
		p->fd = reallocarray(p->fd, p->cap, sizeof(*p->fd));
		if (!p->fd)
			out_of_memory(); /* hardly possible: RLIMIT_NOFILE keeps the set small */
	}
	p->fd[p->n] = (struct pollfd){ .fd = fd, .events = events };
	return p->n++;
}

static inline void pollset_wake_at(struct pollset *p, uint64_t at_ns)
{
	if (at_ns < p->wake_ns)
		p->wake_ns = at_ns;
}
