/*
 * Whether a server can do what it promises: what /readyz, box_health and the admission of sandboxes ask.
 * In standard mode one check counts; where grants are enforced, all of them do.
 */
#pragma once

#include <stdbool.h>

#include "base/json.h"
#include "service/fault.h"

/* In the order in which they are shown. */
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
	bool strict; /* grants are enforced */
	bool passed[READY_CHECK_COUNT];
	bool unsafe_storage;      /* the operator lets the four checks of storage pass */
	const char *backend_name; /* borrowed; NULL: none */
	const char *error;        /* borrowed; or NULL */
	/* writes the members of backend.details in strict mode; NULL: there are none */
	void (*details)(void *arg, struct json_writer *w);
	void *arg;
};

const char *readiness_check_name(enum readiness_check c);
bool readiness_passed(const struct readiness *r, enum readiness_check c);
bool readiness_is_ready(const struct readiness *r);
/* The members of the object; the caller opens and closes it, and may add to it. */
void readiness_members(const struct readiness *r, struct json_writer *w);
/* "Managed sandbox isolation is not ready (failed checks: a, b)"; returns -1. */
int readiness_fault(const struct readiness *r, struct fault *f);
