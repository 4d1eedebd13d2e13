/*
 * Where this process is in the control group hierarchies. Cgroups for sandboxes are made below our
 * own, so that limits set on us also hold for them. These functions create and change nothing.
 *
 * A machine may have the controllers in version 1 hierarchies (one mount each, or several
 * together), in the unified version 2 hierarchy, or spread over both.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

#define HIERARCHY_DIR_BYTES 1024 /* longer paths are treated as not mounted */
#define HIERARCHY_SELF_MAX_BYTES (1u << 18)
/* A version 2 group with members may not pass controllers to its children. If a user's own group is
 * delegated, or we are root of a container with a group of its own, we move the members into this
 * child group and make groups for sandboxes beside it. */
#define HIERARCHY_CALLERS "cordon-callers"

/* The scope that a user's systemd gives to all sandboxes of a home. The first HIERARCHY_SCOPE_DIGITS of a sandbox's
 * ID (groups.h) identify the home. */
#define HIERARCHY_SCOPE_DIGITS 6
#define HIERARCHY_SCOPE_BYTES 32
#define HIERARCHY_SCOPE_SLICE "app.slice"

enum controller { CONTROLLER_MEMORY, CONTROLLER_CPU, CONTROLLER_PIDS, CONTROLLER_COUNT };

struct hierarchy_place {
	unsigned version; /* 1 or 2; 0 when this process sees no mount of the hierarchy */
	char dir[HIERARCHY_DIR_BYTES]; /* the directory of our own cgroup */
};

struct hierarchy_layout {
	struct hierarchy_place controller[CONTROLLER_COUNT];
	/* the version 2 hierarchy, even one without controllers: it has cgroup.kill and
	 * CLONE_INTO_CGROUP. Root uses the top of the hierarchy, where root may do everything;
	 * other users use their own group. */
	struct hierarchy_place unified;
};

const char *controller_name(enum controller c);
/* Reads the texts of /proc/self/cgroup and /proc/self/mountinfo. Version 2 controllers stay
 * unknown: only a file in the unified directory lists them. */
void hierarchy_locate(struct str self, struct str mountinfo, struct hierarchy_layout *ret);
/* Finds our place in the running kernel, also for version 2 controllers. Returns 0 or -errno. */
MUST_USE int hierarchy_find(struct hierarchy_layout *ret);
/* Removes "/" HIERARCHY_CALLERS from the end of OWN, a path of /proc/self/cgroup. */
struct str hierarchy_base(struct str own);

/* Returns true if only version 2 groups are mounted, at the usual place. */
bool hierarchy_is_unified(void);
/* Who owns our version 2 group, judged by its place and its permissions. */
enum hierarchy_owner {
	HIERARCHY_OTHERS, /* we may not make groups in it, as in a login session's group */
	HIERARCHY_GIVEN,  /* we may make groups in it, so it was delegated to us */
	HIERARCHY_UNIT, /* a unit of this user's systemd, which may or may not have delegated it */
};
enum hierarchy_owner hierarchy_owner(void);
/* Writes "cordon-HOME.scope". ID names the group of a sandbox, and begins with the digits HOME. */
void hierarchy_scope_name(const char *id, char out[HIERARCHY_SCOPE_BYTES]);
/* Opens the scope's directory where systemd puts it for this user. Returns -1 when it does not
 * exist or does not belong to the user. */
int hierarchy_open_scope(const char *id);
