/*
 * A holder is a task in a new user namespace. The task does nothing, but keeps the namespace alive
 * until we have written the id maps of the namespace and opened it. The task shares our memory, so
 * it needs no page tables of its own. The task ends when our end of a pipe closes, so at the latest
 * when we end.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

#define HOLDER_STACK_BYTES 4096 /* enough, because the task makes only three system calls */
#define HOLDER_LIMITS_MAX 4     /* how many resources the kernel counts per user namespace */

struct holder {
	pid_t pid;
	int keep; /* our end of the pipe; when it closes, the task ends */
	/* both ends of the pipe; do not change these numbers while the task runs, because the task
	 * reads them */
	int theirs[2];
	_Alignas(16) char stack[HOLDER_STACK_BYTES];
};

/* Starts the task in a new user namespace. Returns 0 or -errno. H must not move before
 * holder_end(). */
MUST_USE int holder_start(struct holder *h);
/* Does the same as holder_start(), but first sets the soft limits in LIMITS, a text like
 * "RESOURCE:NUMBER RESOURCE:NUMBER …". The kernel then applies each limit to all ids of the
 * namespace together. Our own limits are restored afterwards. */
MUST_USE int holder_start_within(struct holder *h, const char *limits);
/* The environment variable in which pid 1 gets the text LIMITS. */
#define HOLDER_LIMITS "LIMITS"
/* Returns a descriptor of the task's namespace, or -errno. */
MUST_USE int holder_namespace(const struct holder *h);
/* Lets the task end, and does not wait for it. */
void holder_release(struct holder *h);
/* Lets the task end, if holder_release() was not called before. Then reaps the task. */
void holder_end(struct holder *h);
