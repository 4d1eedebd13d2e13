/*
 * Tries an operation in a child process, so that its effects on the process and its namespaces end
 * with the child.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct trial {
	const char *step; /* static name of the step that failed; NULL when all steps succeeded */
	int sys;          /* errno of that step */
};

/* What the child runs: a list of system calls. Returns the name of the step that failed, with errno
 * set, or NULL. It must not allocate or print. */
typedef const char *trial_fn(const void *arg);

/* Runs FN in a child and reports how far it got. Returns 0, or -errno when the child could not
 * run. */
MUST_USE int trial_run(trial_fn *fn, const void *arg, struct trial *ret);
/* Starts a child that makes a user namespace and waits. Returns 0 and its pid, or -errno. The child
 * ends with trial_holder_end(), or when the caller dies. */
MUST_USE int trial_holder_start(pid_t *ret);
void trial_holder_end(pid_t pid);
