/*
 * An errand is one system call that the deputy (guest/deputy.h) makes for a thread of the payload,
 * the caller. The call is made with the caller's rights, but it gives no file of the host a
 * privilege. The task that runs an errand changes to the caller's ids, so it must end after the
 * errand.
 */
#pragma once

#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "guest/exec.h"

struct errand_means {
	const struct exec_walls *walls;
	int listener;  /* the seccomp listener, from which the deputy gets the calls */
	int proc;      /* the sandbox's /proc, even if the caller has another root */
	uint64_t *own; /* numbers of the mounts whose files may have privileges */
	size_t n_own;
};

/* Makes the system call N for the caller. Returns the result of the call: 0 or -errno. */
MUST_USE int errand_run(const struct errand_means *m, const struct seccomp_notif *n);
