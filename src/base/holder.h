/*
 * A task whose only purpose is to be in a new user namespace while somebody writes its maps and
 * opens it. It shares our memory and waits for a pipe to close, so it costs no page tables and
 * cannot outlive us.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

#define HOLDER_STACK_BYTES 4096 /* three system calls */
#define HOLDER_LIMITS_MAX 4     /* what the kernel counts per namespace */

struct holder {
	pid_t pid;
	int keep;      /* our end of the pipe: it waits for this to close */
	int theirs[2]; /* the pipe as the task knows it; never changed while it runs */
	_Alignas(16) char stack[HOLDER_STACK_BYTES];
};

/* Starts it in a new user namespace. 0 or -errno. H must stay where it is until holder_end(). */
MUST_USE int holder_start(struct holder *h);
/* The same under the soft limits of the list LIMITS, "RESOURCE:NUMBER RESOURCE:NUMBER …": the kernel keeps them for the
 * namespace, where they hold for all ids together. We have our own ones again afterwards. */
MUST_USE int holder_start_within(struct holder *h, const char *limits);
/* In this variable whoever starts pid 1 passes such a list to it. */
#define HOLDER_LIMITS "LIMITS"
/* A descriptor of its namespace, or -errno. */
MUST_USE int holder_namespace(const struct holder *h);
/* Lets it go; it ends by itself, and takes a moment. */
void holder_release(struct holder *h);
/* The same if need be, and reaps it. */
void holder_end(struct holder *h);
