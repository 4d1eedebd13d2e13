#include "service/readiness.h"

#include <assert.h>

#include "base/cleanup.h"

static const char *const names[] = {
	[READY_CONFIGURATION] = "configuration",
	[READY_REQUIRED_BACKEND] = "required_backend",
	[READY_WORKSPACE_MOUNT] = "workspace_mount",
	[READY_BACKEND_AVAILABLE] = "backend_available",
	[READY_CGROUP_V2] = "cgroup_v2",
	[READY_NAMESPACE_ISOLATION] = "namespace_isolation",
	[READY_MOUNT_ISOLATION] = "mount_isolation",
	[READY_NETWORK_ISOLATION] = "network_isolation",
	[READY_HARD_WORKSPACE_QUOTA] = "hard_workspace_quota",
	[READY_HARD_SKILL_STORAGE_QUOTA] = "hard_skill_storage_quota",
	[READY_BOUNDED_EPHEMERAL_STORAGE] = "bounded_ephemeral_storage",
	[READY_INODE_QUOTA] = "inode_quota",
	[READY_SESSION_CAP] = "session_cap",
	[READY_MANAGED_PROCESS_CAP] = "managed_process_cap",
};
static_assert(ARRAY_SIZE(names) == READY_CHECK_COUNT, "a check has no name");

/* Returns true for the checks that the operator may switch off. */
static bool is_storage(enum readiness_check c)
{
	return c >= READY_HARD_WORKSPACE_QUOTA && c <= READY_INODE_QUOTA;
}

static bool counts(const struct readiness *r, enum readiness_check c)
{
	return r->strict || c == READY_BACKEND_AVAILABLE;
}

bool readiness_met(const struct readiness *r, enum readiness_check c)
{
	return r->met[c] || (r->unsafe_storage && is_storage(c));
}

bool readiness_is_ready(const struct readiness *r)
{
	for (unsigned i = 0; i < READY_CHECK_COUNT; i++)
		if (counts(r, i) && !readiness_met(r, i))
			return false;
	return true;
}

static void encode_backend(const struct readiness *r, struct json_writer *w)
{
	json_key(w, "backend");
	json_begin_object(w);
	json_key_str(w, "name", r->backend_name);
	json_key_bool(w, "available", r->met[READY_BACKEND_AVAILABLE]);
	if (r->strict) {
		json_key(w, "details");
		json_begin_object(w);
		if (r->details)
			r->details(r->arg, w);
		json_end_object(w);
	}
	json_end_object(w);
}

void readiness_members(const struct readiness *r, struct json_writer *w)
{
	json_key_bool(w, "ready", readiness_is_ready(r));
	json_key_str(w, "mode", r->strict ? "grant_enforced" : "standard");
	encode_backend(r, w);
	json_key(w, "checks");
	json_begin_object(w);
	for (unsigned i = 0; i < READY_CHECK_COUNT; i++)
		if (counts(r, i))
			json_key_bool(w, names[i], readiness_met(r, i));
	json_end_object(w);
	if (r->strict)
		json_key_bool(w, "unsafe_soft_storage_limits", r->unsafe_storage);
	if (r->error)
		json_key_str(w, "error", r->error);
}

int readiness_fault(const struct readiness *r, struct fault *f)
{
	AUTO_BUF failed = BUF_INIT(1024);

	for (unsigned i = 0; i < READY_CHECK_COUNT; i++)
		if (counts(r, i) && !readiness_met(r, i))
			buf_addf(&failed, "%s%s", failed.n ? ", " : "", names[i]);
	return fault_set(f, FAULT_READINESS,
			 "Managed sandbox isolation is not ready (failed checks: %s)",
			 buf_str(&failed));
}
