/*
 * The control groups of one sandbox: limits, kill, usage.
 *
 * Works with v2, v1 and the hybrid of both, for whoever may create groups. Names are flat,
 * `cordon-ID` at the root of each hierarchy (for root) or below our own group (v2, for a user
 * to whom it is delegated; a scope of his systemd's is one), so that a later command of the same caller finds and removes what a killed
 * supervisor left. pid 1 stays outside the limited group: a memory kill must hit the payload, never
 * the agent.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define CGROUP_ID_BYTES 33
#define CGROUP_V1_MAX 4 /* memory, pids, cpu, cpuacct */

enum cgroup_limit { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPU, CGROUP_LIMIT_COUNT };

struct cgroup_limits {
	uint64_t memory_bytes, pids; /* 0: unlimited */
	uint32_t cpu_milli;          /* thousandths of a CPU; 0: unlimited */
};

struct cgroup {
	char id[CGROUP_ID_BYTES];
	int v2_home;    /* directory of cordon-ID in v2; or -1 */
	bool v2_limits; /* it has controllers: on a hybrid host they are v1's, and v2 only kills */
	int v2_init; /* where pid 1 is born: below it, beside the limited group; without limits it; or -1 */
	int v2_helpers;  /* cgroup.procs of the payload's child for what works for it; or -1 */
	int v2_payload;  /* delegated to pid 1: per-exec groups are made below; or -1 */
	int v2_enclosed; /* the same as a mount of its own, for pid 1: `..` ends there; or -1 */
	int v1[CGROUP_V1_MAX];        /* directories of cordon-ID in v1 hierarchies */
	unsigned kind[CGROUP_V1_MAX]; /* of each, enum cgroup_limit */
	int tasks[CGROUP_V1_MAX];     /* their `tasks`, for pid 1 to put commands in */
	unsigned n_v1;
	int oom; /* memory.events or memory.oom_control, readable; or -1 */
	bool enforced[CGROUP_LIMIT_COUNT];
};

void cgroup_init(struct cgroup *c);
void cgroup_done(struct cgroup *c); /* closes; removes nothing */
/* First half, before the clone: the v2 home of pid 1. Never fails: absent is a state. */
void cgroup_prepare(struct cgroup *c, const char *id);
/* v2_payload, made if it is not there yet; or -1. */
int cgroup_payload(struct cgroup *c);
/* Second half: limits, and delegation to OWNER (pid 1's id outside). */
void cgroup_limit(struct cgroup *c, const struct cgroup_limits *l, uid_t owner, gid_t owner_gid);
/* Makes the group of those that work for the payload, where one is needed: a confined supervisor cannot. */
void cgroup_make_helpers(struct cgroup *c);
/* After both, if we may mount: opens v2_enclosed. -errno. */
MUST_USE int cgroup_enclose(struct cgroup *c);
/* PID works for the payload: what it uses counts as the payload's. As far as there are groups. */
void cgroup_join(const struct cgroup *c, pid_t pid);
/* Changes limits of a live sandbox. -errno of the first that failed. */
MUST_USE int cgroup_update(const struct cgroup *c, const struct cgroup_limits *l);
/* Kills all members (v2) and removes every directory of ID, wherever it is. Idempotent. */
void cgroup_remove(const char *id);
/* The same for the groups that C holds, which takes no path: a confined supervisor has none. */
void cgroup_clear(const struct cgroup *c);

struct cgroup_usage {
	uint64_t memory_bytes, cpu_ns, pids;
	bool has_memory, has_cpu, has_pids;
};
void cgroup_read_usage(const struct cgroup *c, struct cgroup_usage *ret);
