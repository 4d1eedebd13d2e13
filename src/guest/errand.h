/*
 * One call that the deputy (guest/deputy.h) does: as its caller would have done it, but for a privilege that would
 * be the host's. Whoever runs an errand is somebody else afterwards and ends.
 */
#pragma once

#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "guest/exec.h"

#define ERRAND_OWN_MAX 64 /* mounts of the sandbox's own; others keep no privilege */

struct errand_means {
	const struct exec_walls *walls;
	int listener;                 /* where calls come from */
	int proc;                     /* the sandbox's /proc, whatever the caller's root is */
	uint64_t own[ERRAND_OWN_MAX]; /* numbers of mounts whose files may have privileges */
	size_t n_own;
};

/* 0 or -errno: the call's result. */
MUST_USE int errand_run(const struct errand_means *m, const struct seccomp_notif *n);
