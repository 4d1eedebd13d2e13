/*
 * The control groups of one sandbox: limits, kill, usage.
 *
 * Works with version 2, version 1 and the hybrid of both, for every caller that may create groups. The groups are
 * called `cordon-ID`. Groups of root are at the root of each hierarchy. Groups of an ordinary user are below the user's
 * own group, if that is delegated to the user, as a scope of the user's systemd is. These places are fixed, so a later
 * command of the same caller finds and removes the groups that a killed supervisor left. Pid 1 stays outside the
 * limited group, so that a kill for memory hits the payload and never pid 1.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define CGROUP_ID_BYTES 33
#define CGROUP_V1_MAX 4 /* memory, pids, cpu, cpuacct */

enum cgroup_seen { CGROUP_CPUACCT, CGROUP_CPUSET, CGROUP_SEEN_COUNT };
enum cgroup_limit { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPU, CGROUP_LIMIT_COUNT };

struct cgroup_limits {
	uint64_t memory_bytes, pids; /* 0 for unlimited */
	uint32_t cpu_milli;          /* thousandths of a CPU; 0 for unlimited */
};

struct cgroup {
	char id[CGROUP_ID_BYTES];
	int v2_home; /* the directory of cordon-ID in v2; or -1 */
	/* v2_home has controllers. On a hybrid host v1 has the controllers, and v2 is used only
	 * for killing */
	bool v2_limits;
	/* the group that pid 1 is born in: a child of v2_home, or v2_home itself if that has no
	 * controllers; or -1 */
	int v2_init;
	int v2_helpers; /* cgroup.procs of the group for processes that work for the payload; or -1 */
	int v2_payload; /* the limited group, delegated to pid 1, which makes a group per exec in it; or -1 */
	/* v2_payload as a mount of its own for pid 1, so that `..` does not lead out of it; or
	 * -1 */
	int v2_enclosed;
	int v1[CGROUP_V1_MAX]; /* directories of cordon-ID in v1 hierarchies */
	/* for each directory of v1, the enum cgroup_limit that it enforces */
	unsigned kind[CGROUP_V1_MAX];
	int tasks[CGROUP_V1_MAX]; /* `tasks` files of v1, by which commands join the groups */
	unsigned n_v1;
	/* Directories of cordon-ID in the v1 hierarchies cpuacct and cpuset. They limit nothing; pid 1 joins them, so that
	 * Java finds all groups that it wants (process/group_view.h). Or -1. */
	int seen[CGROUP_SEEN_COUNT];
	int oom; /* memory.events or memory.oom_control, open for reading; or -1 */
	bool enforced[CGROUP_LIMIT_COUNT];
};

void cgroup_init(struct cgroup *c);
void cgroup_done(struct cgroup *c); /* closes the descriptors; removes no group */
/* Call this before the clone. Makes the v2 group in which pid 1 is born. If that is impossible, C
 * has no v2 group. */
void cgroup_prepare(struct cgroup *c, const char *id);
/* Returns v2_payload, and makes it first if necessary; or -1. */
int cgroup_payload(struct cgroup *c);
/* Call this after the clone. Sets the limits and gives groups to OWNER, the id of pid 1 outside. */
void cgroup_limit(struct cgroup *c, const struct cgroup_limits *l, uid_t owner, gid_t owner_gid);
/* Makes the group for processes that work for the payload, before it is needed: a confined supervisor
 * cannot make groups. */
void cgroup_make_helpers(struct cgroup *c);
/* Makes the groups in SEEN, if v1 groups limit memory or CPU time. */
void cgroup_make_seen(struct cgroup *c);
/* Opens v2_enclosed, after cgroup_limit() and if we may mount. Returns 0 or -errno. */
MUST_USE int cgroup_enclose(struct cgroup *c);
/* Charges the resources of PID, a helper process, to the payload. Does nothing without groups. */
void cgroup_join(const struct cgroup *c, pid_t pid);
/* Changes limits of a live sandbox. Returns 0, or -errno of the first change that failed. */
MUST_USE int cgroup_update(const struct cgroup *c, const struct cgroup_limits *l);
/* Lets the members use all CPUs. Call it before they are killed: throttled processes die slowly. */
void cgroup_lift_cpu(const struct cgroup *c);
/* Kills all members (version 2 only) and removes the groups of the sandbox ID in every hierarchy.
 * Does nothing if ID has no group. */
void cgroup_remove(const char *id);
/* Works like cgroup_remove(), for the groups that C has open. Uses no paths, so a confined supervisor can call it. */
void cgroup_clear(const struct cgroup *c);

struct cgroup_usage {
	uint64_t memory_bytes, cpu_ns, pids;
	bool has_memory, has_cpu, has_pids;
};
void cgroup_read_usage(const struct cgroup *c, struct cgroup_usage *ret);
