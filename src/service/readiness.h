/*
 * The checks that show whether a server can do what it promises. The result is used by /readyz, by
 * the action `box_health` and by the admission of sandboxes. If grants are enforced, all checks
 * must pass, except those that the operator has switched off. If grants are not enforced, only
 * READY_BACKEND_AVAILABLE must pass.
 */
#pragma once

#include <stdbool.h>

#include "base/json.h"
#include "service/fault.h"

enum readiness_check {
	READY_CONFIGURATION,
	READY_REQUIRED_BACKEND,
	READY_WORKSPACE_MOUNT,
	READY_BACKEND_AVAILABLE,
	READY_CGROUP_V2,
	READY_NAMESPACE_ISOLATION,
	READY_MOUNT_ISOLATION,
	READY_NETWORK_ISOLATION,
	READY_HARD_WORKSPACE_QUOTA,
	READY_HARD_SKILL_STORAGE_QUOTA,
	READY_BOUNDED_EPHEMERAL_STORAGE,
	READY_INODE_QUOTA,
	READY_SESSION_CAP,
	READY_MANAGED_PROCESS_CAP,
	READY_CHECK_COUNT
};

struct readiness {
	bool strict;                 /* grants are enforced */
	bool met[READY_CHECK_COUNT]; /* for each check, whether its condition is met */
	bool unsafe_storage;         /* the operator has switched off the four checks of storage */
	const char *backend_name;    /* borrowed; NULL if there is no backend */
	const char *error;           /* borrowed; NULL if there is no error */
	/* writes the members of `backend.details` if `strict` is true; may be NULL */
	void (*details)(void *arg, struct json_writer *w);
	void *arg;
};

bool readiness_met(const struct readiness *r, enum readiness_check c);
bool readiness_is_ready(const struct readiness *r);
/* Writes the members of the answer. The calling code begins and ends the JSON object, and may add
 * members. */
void readiness_members(const struct readiness *r, struct json_writer *w);
/* Sets the fault "Managed sandbox isolation is not ready (failed checks: a, b)". Returns -1. */
int readiness_fault(const struct readiness *r, struct fault *f);
