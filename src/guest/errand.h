/*
 * An errand is one system call that the deputy (guest/deputy.h) makes for a caller: with the caller's rights, but without a
 * privilege on files of the host. The task that runs an errand takes the caller's identity and must end afterwards.
 */
#pragma once

#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "guest/exec.h"

#define ERRAND_OWN_MAX 64 /* the sandbox's own mounts; files on other mounts get no privileges */

struct errand_means {
	const struct exec_walls *walls;
	int listener;                 /* of seccomp: the deputy gets the calls from it */
	int proc;                     /* the sandbox's /proc, even if the caller has another root */
	uint64_t own[ERRAND_OWN_MAX]; /* numbers of mounts whose files may have privileges */
	size_t n_own;
};

/* Returns 0 or -errno: the result of the call. */
MUST_USE int errand_run(const struct errand_means *m, const struct seccomp_notif *n);
