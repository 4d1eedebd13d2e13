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

#define HIERARCHY_DIR_BYTES 1024 /* longer paths are treated as not mounted */
#define HIERARCHY_SELF_MAX_BYTES (1u << 18)
/* A version 2 group with members may not hand controllers down. Where a user's own group is delegated,
 * its members move into this child of it, and groups for sandboxes are made beside it. */
#define HIERARCHY_CALLERS "cordon-callers"

/* The scope that a user's systemd gives to all sandboxes of a home: HIERARCHY_SCOPE_DIGITS of the name of
 * each one's group are those of its home. */
#define HIERARCHY_SCOPE_DIGITS 6
#define HIERARCHY_SCOPE_BYTES 32
#define HIERARCHY_SCOPE_SLICE "app.slice"

enum controller { CONTROLLER_MEMORY, CONTROLLER_CPU, CONTROLLER_PIDS, CONTROLLER_COUNT };

struct hierarchy_place {
	unsigned version;              /* 1 or 2; 0 when it is mounted nowhere we can see */
	char dir[HIERARCHY_DIR_BYTES]; /* the directory of our own cgroup */
};

struct hierarchy_layout {
	struct hierarchy_place controller[CONTROLLER_COUNT];
	/* the version 2 hierarchy, even one without controllers: cgroup.kill, CLONE_INTO_CGROUP. For
	 * root its top, where root may do everything; for others their own group. */
	struct hierarchy_place unified;
};

const char *controller_name(enum controller c);
/* From the texts of /proc/self/cgroup and /proc/self/mountinfo. Leaves version 2 controllers out:
 * only the unified directory's own file lists them. */
void hierarchy_locate(struct str self, struct str mountinfo, struct hierarchy_layout *ret);
/* The same from the running kernel, version 2 controllers included. 0 or -errno. */
MUST_USE int hierarchy_find(struct hierarchy_layout *ret);
/* Cuts the group of moved callers off the end of OWN, a path of /proc/self/cgroup. */
struct str hierarchy_base(struct str own);

/* Only version 2 groups are mounted, where they always are. */
bool hierarchy_is_unified(void);
/* Whose the version 2 group is that we live in, as far as its place and its rights tell. */
enum hierarchy_owner {
	HIERARCHY_OTHERS, /* we may not make groups in it: a login's */
	HIERARCHY_GIVEN,  /* we may, so somebody gave it to us */
	HIERARCHY_UNIT, /* a unit of this user's systemd, which may or may not have given it away */
};
enum hierarchy_owner hierarchy_owner(void);
/* "cordon-HOME.scope", for the group ID of a sandbox. */
void hierarchy_scope_name(const char *id, char out[HIERARCHY_SCOPE_BYTES]);
/* Its directory where systemd puts it for this user; -1 when it is not there, or not the user's. */
int hierarchy_open_scope(const char *id);
