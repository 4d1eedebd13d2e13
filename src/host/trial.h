/*
 * Trying an operation in a child, so that what it does to the process or to its namespaces is gone
 * afterwards.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct trial {
	const char *step; /* static: which step failed, NULL when all went well */
	int sys;          /* its errno */
};

/* The child's side: a list of system calls. Returns the step that failed, with errno set, or NULL.
 * It must not allocate or print. */
typedef const char *trial_fn(const void *arg);

/* Runs FN in a child and brings home how far it got. 0 or -errno when the child could not be run.
 */
MUST_USE int trial_run(trial_fn *fn, const void *arg, struct trial *ret);
/* Starts a child that makes a user namespace and waits; 0 and its pid, or -errno. It ends with
 * trial_holder_end(), or when the caller dies. */
MUST_USE int trial_holder_start(pid_t *ret);
void trial_holder_end(pid_t pid);
