/*
 * The control groups of one sandbox. We use them to limit resources, to kill all members and to
 * count the usage.
 *
 * This works with control groups of version 2, of version 1 and on hosts with both, for every user
 * who may create groups. The groups are called `cordon-ID`. If root runs cordon, the groups are at
 * the root of each hierarchy. If an ordinary user runs cordon, the groups are below the user's own
 * group. This is possible only if the user's group is delegated to the user, as a scope of the
 * user's systemd is. These places are fixed, so a later command of the same user finds and releases
 * the groups that a killed supervisor left. Pid 1 stays outside the limited group. So if the memory
 * is used up, the kernel kills a process of the payload and never pid 1.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define CGROUP_ID_BYTES 33
#define CGROUP_V1_MAX 4 /* room for a group for each limit */

enum cgroup_seen { CGROUP_CPUACCT, CGROUP_CPUSET, CGROUP_SEEN_COUNT };
enum cgroup_limit { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPU, CGROUP_LIMIT_COUNT };

struct cgroup_limits {
	uint64_t memory_bytes, pids; /* 0 for unlimited */
	uint32_t cpu_milli;          /* thousandths of a CPU; 0 for unlimited */
};

struct cgroup {
	char id[CGROUP_ID_BYTES];
	int v2_home; /* the directory of cordon-ID in v2; or -1 */
	/* true if v2_home has controllers; on a host with both versions, version 1 may have the
	 * controllers, and then version 2 is used only for killing */
	bool v2_limits;
	/* the group in which pid 1 is born: a child of v2_home, or v2_home itself if v2_home has no
	 * controllers; or -1 */
	int v2_init;
	/* cgroup.procs of the group of helpers, our processes that work for the payload; or -1 */
	int v2_helpers;
	/* the limited group, or -1. It is delegated to pid 1, which makes a group in it for each
	 * command. */
	int v2_payload;
	/* a mount of v2_payload alone, for pid 1, so that `..` does not lead out of the group; or
	 * -1 */
	int v2_enclosed;
	int v1[CGROUP_V1_MAX]; /* directories of cordon-ID in v1 hierarchies */
	/* for each directory of v1, the enum cgroup_limit that it enforces */
	unsigned kind[CGROUP_V1_MAX];
	/* the files `tasks` of the v1 groups; commands join a group by such a file */
	int tasks[CGROUP_V1_MAX];
	unsigned n_v1;
	/* Directories of cordon-ID in the v1 hierarchies `cpuacct` and `cpuset`, or -1. These
	 * groups limit nothing. Pid 1 joins them so that Java finds all groups that it looks for
	 * (process/group_view.h). */
	int seen[CGROUP_SEEN_COUNT];
	int oom; /* memory.events or memory.oom_control, open for reading; or -1 */
	bool enforced[CGROUP_LIMIT_COUNT];
};

void cgroup_init(struct cgroup *c);
void cgroup_done(struct cgroup *c); /* closes the descriptors; releases no group */
/* Call this before the clone. Makes the v2 group in which pid 1 is born. If that is impossible, *C
 * has no v2 group. */
void cgroup_prepare(struct cgroup *c, const char *id);
/* Returns v2_payload, or -1. Makes the group first if necessary. */
int cgroup_payload(struct cgroup *c);
/* Call this after the clone. Sets the limits, and delegates v2_home and v2_payload to pid 1. OWNER
 * and OWNER_GID are the ids that pid 1 has on the host. */
void cgroup_limit(struct cgroup *c, const struct cgroup_limits *l, uid_t owner, gid_t owner_gid);
/* Makes the group for helpers (v2_helpers). Call this early: once the supervisor is confined, it
 * cannot make groups. */
void cgroup_make_helpers(struct cgroup *c);
/* Makes the groups in C->seen, if v1 groups limit memory or CPU time. */
void cgroup_make_seen(struct cgroup *c);
/* Opens v2_enclosed. Call this after cgroup_limit(), and only if we may mount. Returns 0 or
 * -errno. */
MUST_USE int cgroup_enclose(struct cgroup *c);
/* Charges the resources of the helper process PID to the payload. Does nothing if there are no
 * groups. */
void cgroup_join(const struct cgroup *c, pid_t pid);
/* Changes limits of a live sandbox. Returns 0, or -EOPNOTSUPP if a limit could not be set. */
MUST_USE int cgroup_update(const struct cgroup *c, const struct cgroup_limits *l);
/* Removes the CPU limit. Call this before the members are killed, because throttled processes die
 * slowly. */
void cgroup_lift_cpu(const struct cgroup *c);
/* Releases the groups of the sandbox ID in every hierarchy. In version 2, kills all members first.
 * Does nothing if the sandbox has no group. */
void cgroup_release(const char *id);
/* Does the same as cgroup_release() for the groups that *C has open. Uses no paths, so a confined
 * supervisor can call this function. */
void cgroup_release_open(const struct cgroup *c);

struct cgroup_usage {
	uint64_t memory_bytes, cpu_ns, pids;
	bool has_memory, has_cpu, has_pids;
};
void cgroup_read_usage(const struct cgroup *c, struct cgroup_usage *ret);
