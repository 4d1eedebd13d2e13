/*
 * Tries an operation in a child process. The operation changes the child and its namespaces, and
 * these changes end with the child.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct trial {
	const char *step; /* static name of the step that failed; NULL when all steps succeeded */
	int sys;          /* errno of that step */
};

/* The function that the child runs. It makes system calls only, and must not allocate or print. If
 * a step fails, the function sets errno and returns the name of the step. Otherwise it returns
 * NULL. */
typedef const char *trial_fn(const void *arg);

/* Runs FN in a child and reports in RET which step failed, if any. Returns 0, or -errno if the
 * child could not run. */
MUST_USE int trial_run(trial_fn *fn, const void *arg, struct trial *ret);
/* Starts a child that makes a user namespace and waits. Returns 0 and the child's pid, or
 * -errno. trial_holder_end() ends the child. The child also ends when our process dies. */
MUST_USE int trial_holder_start(pid_t *ret);
void trial_holder_end(pid_t pid);
