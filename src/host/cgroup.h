/*
 * Where this process stands in the control group hierarchies, and so where cgroups for sandboxes
 * can be made: below its own, so that limits set on us also hold for them. Finding makes and
 * changes nothing.
 *
 * A machine may have the controllers in version 1 hierarchies (one mount each, or several
 * together), in the unified version 2 one, or spread over both.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

#define CGROUP_DIR_BYTES 1024 /* longer paths are treated as not mounted */
#define CGROUP_SELF_MAX_BYTES (1u << 18)

enum cgroup_controller { CGROUP_MEMORY, CGROUP_CPU, CGROUP_PIDS, CGROUP_CONTROLLER_COUNT };

struct cgroup_place {
	unsigned version;           /* 1 or 2; 0 when it is mounted nowhere we can see */
	char dir[CGROUP_DIR_BYTES]; /* the directory of our own cgroup */
};

struct cgroup_layout {
	struct cgroup_place controller[CGROUP_CONTROLLER_COUNT];
	/* the version 2 hierarchy, even one without controllers: cgroup.kill, CLONE_INTO_CGROUP */
	struct cgroup_place unified;
};

const char *cgroup_controller_name(enum cgroup_controller c);
/* From the texts of /proc/self/cgroup and /proc/self/mountinfo. Leaves version 2 controllers out:
 * only the unified directory's own file lists them. */
void cgroup_locate(struct str self, struct str mountinfo, struct cgroup_layout *ret);
/* The same from the running kernel, version 2 controllers included. 0 or -errno. */
MUST_USE int cgroup_find(struct cgroup_layout *ret);
/* True when the caller may make a directory there; asks, does not try. */
bool cgroup_writable(const struct cgroup_place *p);
