/*
 * A task that only sits in a new user namespace while we write the id maps of that namespace and open
 * the namespace. The task shares our memory, so it costs no page tables. It waits until a pipe closes, so it cannot
 * outlive us.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

#define HOLDER_STACK_BYTES 4096 /* the task makes three system calls */
#define HOLDER_LIMITS_MAX 4     /* resources that the kernel counts per user namespace */

struct holder {
	pid_t pid;
	int keep;      /* our end of the pipe; when it closes, the task ends */
	int theirs[2]; /* the pipe's ends in the task; do not change them while the task runs */
	_Alignas(16) char stack[HOLDER_STACK_BYTES];
};

/* Starts the task in a new user namespace. Returns 0 or -errno. H must not move before
 * holder_end(). */
MUST_USE int holder_start(struct holder *h);
/* Does the same as holder_start() under the soft limits "RESOURCE:NUMBER RESOURCE:NUMBER …". The
 * kernel then applies each limit to all ids of the namespace together. Our own limits are restored
 * afterwards. */
MUST_USE int holder_start_within(struct holder *h, const char *limits);
/* Pid 1 gets such a list in this environment variable. */
#define HOLDER_LIMITS "LIMITS"
/* Returns a descriptor of the task's namespace, or -errno. */
MUST_USE int holder_namespace(const struct holder *h);
/* Lets the task end, and does not wait for it. */
void holder_release(struct holder *h);
/* Lets the task end if holder_release() did not, and reaps it. */
void holder_end(struct holder *h);
