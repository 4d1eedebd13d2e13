/* What one turn of the loop waits for. It is built anew each turn, because libslirp works so. */
#pragma once

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct pollset {
	struct pollfd *fd;
	size_t n, cap;
	uint64_t wake_ns; /* absolute; UINT64_MAX: there is no deadline */
};

/* Returns the index at which the result will stand. */
static inline size_t pollset_add(struct pollset *p, int fd, short events)
{
	if (p->n == p->cap) {
		p->cap = p->cap ? 2 * p->cap : 64;
		p->fd = reallocarray(p->fd, p->cap, sizeof(*p->fd));
		if (!p->fd)
			out_of_memory(); /* bounded by the number of descriptors that we may hold */
	}
	p->fd[p->n] = (struct pollfd){ .fd = fd, .events = events };
	return p->n++;
}

static inline void pollset_wake_at(struct pollset *p, uint64_t at_ns)
{
	if (at_ns < p->wake_ns)
		p->wake_ns = at_ns;
}
