/*
 * Finds out where this process is in the hierarchies of control groups. If an ordinary user runs
 * cordon, the groups of sandboxes are made below the user's own group, so that limits on this group
 * also apply to the sandboxes. If root runs cordon, these groups are made at the top of each
 * hierarchy. These functions create and change nothing.
 *
 * A machine may have its controllers in version 1 hierarchies, in the unified version 2 hierarchy,
 * or in both. A version 1 hierarchy has one controller or several.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

#define HIERARCHY_DIR_BYTES 1024 /* a hierarchy with a longer path counts as not mounted */
#define HIERARCHY_SELF_MAX_BYTES (1u << 18)
/* A version 2 group that has processes cannot pass controllers to its child groups. So we move the
 * processes of our group into a child group with this name, and make the groups of sandboxes beside
 * the child group. We do this if our group is delegated to an ordinary user, or if we are root of a
 * container that has a group of its own. */
#define HIERARCHY_CALLERS "cordon-callers"

/* The systemd scope of all sandboxes of a home; the user's systemd makes it. The first
 * HIERARCHY_SCOPE_DIGITS digits of a sandbox's ID (groups.h) identify the home. */
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
	/* the version 2 hierarchy, even if it has no controllers, because cgroup.kill and
	 * CLONE_INTO_CGROUP need it. For root this is the top of the hierarchy, where root may
	 * do everything. For other users it is their own group. */
	struct hierarchy_place unified;
};

const char *controller_name(enum controller c);
/* Finds our places in SELF and MOUNTINFO, the texts of /proc/self/cgroup and /proc/self/mountinfo.
 * Does not find version 2 controllers, because only a file in the unified directory lists them. */
void hierarchy_locate(struct str self, struct str mountinfo, struct hierarchy_layout *ret);
/* Does the same as hierarchy_locate() for the running kernel, and also finds version 2 controllers.
 * Returns 0 or -errno. */
MUST_USE int hierarchy_find(struct hierarchy_layout *ret);
/* OWN is a path from /proc/self/cgroup. Returns OWN without "/" HIERARCHY_CALLERS at its end. */
struct str hierarchy_base(struct str own);

/* Returns true if only version 2 groups are mounted, at the usual place. */
bool hierarchy_is_unified(void);
/* Who owns our version 2 group, judged by its place and its permissions. */
enum hierarchy_owner {
	/* we may not make groups in it; for example, it is the group of a login session */
	HIERARCHY_OTHERS,
	HIERARCHY_GIVEN, /* we may make groups in it, so it was delegated to us */
	/* it is a unit of this user's systemd, and may or may not be delegated to us */
	HIERARCHY_UNIT,
};
enum hierarchy_owner hierarchy_owner(void);
/* Writes the name of the systemd scope, "cordon-DIGITS.scope". ID is the id of a sandbox
 * (groups.h), and DIGITS are the first digits of ID, which identify the home. */
void hierarchy_scope_name(const char *id, char out[HIERARCHY_SCOPE_BYTES]);
/* Opens the directory that systemd makes for the scope. Returns -1 if the directory does not
 * exist or does not belong to the user. */
int hierarchy_open_scope(const char *id);
