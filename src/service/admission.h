/*
 * Admission of Workspaces. In the mode "grant enforced" a Workspace may use sandboxes only while it
 * has a grant, and all sandboxes have the form that the policy prescribes.
 *
 * No function of this file reads a clock or ends a session: the calling code passes the time and
 * ends the sessions. Once the mode is on, only a restart of the server turns it off. A
 * configuration that cannot be understood turns the mode on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "service/boxspec.h"
#include "service/fault.h"
#include "service/tenant.h"
#include "service/workspace_list.h"

#define ADMISSION_SESSION "global" /* the only session of a Workspace */

struct admission_policy {
	int64_t max_sessions, max_managed_processes;
	int64_t max_grant_ttl_sec, max_timeout_sec;
	double cpus;
	int64_t memory_mb, pids_limit;
	bool read_only_rootfs;
	int64_t workspace_quota_mb;
	int64_t readiness_cache_sec;
};

/* What a server remembers about one Workspace. */
struct admission_record {
	unsigned char key[TENANT_KEY_BYTES];
	bool granted; /* true if there is a grant; the next five members describe the grant */
	uint64_t generation;
	uint64_t revision;
	uint64_t expires_ns; /* real time */
	int64_t max_sessions, max_managed_processes;
	/* the highest values that this Workspace has ever had */
	uint64_t highest_generation, highest_revision, revoked_revision;
};

struct admission {
	bool active;
	struct admission_policy policy;
	char *error; /* owned: what is wrong with the configuration, or NULL */
	size_t max;  /* the largest number of records; the calling code may change it */
	struct workspace_list workspaces;
	size_t cap;
	struct admission_record *record; /* indexed by the Workspace's number in `workspaces` */
};

void admission_init(struct admission *a, size_t max);
void admission_done(struct admission *a);
/* Applies the section `admission` of a configuration. NULL and JSON null mean that the
 * configuration has no such section. */
void admission_configure(struct admission *a, const struct json_value *section);
/* Returns 0. If the configuration is wrong, returns -1 with a FAULT_READINESS in *F. */
MUST_USE int admission_check_config(const struct admission *a, struct fault *f);

/* Returns 0 if grants are enforced, otherwise -1 with a FAULT_ADMISSION in *F. */
MUST_USE int admission_check_enabled(const struct admission *a, struct fault *f);

/* --- grants ----------------------------------------------------------------------------------- */

/* A SandboxAdmissionGrant or a SandboxAdmissionRevocation of the Box protocol. A revocation has
 * only the members `instance`, `workspace` and `revision`. */
struct admission_grant {
	char *instance, *workspace; /* owned */
	uint64_t generation, revision, expires_ns;
	int64_t max_sessions, max_managed_processes;
};

/* Returns 0, or -1 with a FAULT_VALIDATION in F. */
MUST_USE int admission_grant_decode(const struct json_value *v, struct admission_grant *ret,
				    struct fault *f);
MUST_USE int admission_revocation_decode(const struct json_value *v, struct admission_grant *ret,
					 struct fault *f);
void admission_grant_done(struct admission_grant *g);

enum admission_effect {
	/* the new grant was ignored, because it is the old grant with an earlier expiry */
	ADMISSION_NONE,
	ADMISSION_KEEP_ONE,      /* end the Workspace's sessions except ADMISSION_SESSION */
	ADMISSION_DROP_SESSIONS, /* end all sessions of the Workspace */
};

/* Fails as admission_install() would fail, and changes nothing. */
MUST_USE int admission_check_install(const struct admission *a, const struct admission_grant *g,
				     struct str trusted, uint64_t fenced, uint64_t now_ns,
				     struct fault *f);
/* Installs a grant. FENCED is the highest generation of the Workspace that the fence
 * (service/fence.h) has seen, or 0. After a success the calling code passes the grant's generation
 * to fence_observe(). *RET_RECORD is the record with the grant that is valid now. The calling code
 * passes the record to admission_encode_receipt(), which writes the answer to the peer. *RET_RECORD
 * stays valid until the next call of admission_install() or admission_revoke(). Returns 0, or -1
 * with a fault in *F. */
MUST_USE int admission_install(struct admission *a, const struct admission_grant *g,
			       struct str trusted, uint64_t fenced, uint64_t now_ns,
			       enum admission_effect *ret_effect,
			       const struct admission_record **ret_record, struct fault *f);
/* Revokes the grant of a Workspace. Returns 0, or -1 with a fault in F. On success the caller ends
 * all sessions of the Workspace. */
MUST_USE int admission_revoke(struct admission *a, const struct admission_grant *g,
			      struct str trusted, struct fault *f);
/* These two functions write the members of the receipts for a grant and for a revocation. */
void admission_encode_receipt(const struct admission_grant *g, const struct admission_record *r,
			      struct json_writer *w);
void admission_encode_revoked(const struct admission_grant *g, struct json_writer *w);
/* Removes grants that have expired. Calls the function EXPIRED with the key of each Workspace that
 * lost its grant. EXPIRED must end the sessions of this Workspace. */
void admission_expire(struct admission *a, uint64_t now_ns,
		      void (*expired)(void *arg, const unsigned char key[TENANT_KEY_BYTES]),
		      void *arg);

/* Returns the real time at which the next grant expires, or 0 if there is no grant. */
uint64_t admission_next_expiry(const struct admission *a);

/* --- what a grant allows ---------------------------------------------------------------------- */

enum admission_use { ADMISSION_SESSIONS, ADMISSION_PROCESSES, ADMISSION_RELAY };

/* Checks that this tenant may use sandboxes now. The calling code must check readiness first.
 * Returns 0, or -1 with a FAULT_ADMISSION in *F. If the grant has expired, removes the grant and
 * sets *RET_EXPIRED to true. The calling code then ends the Workspace's sessions. */
MUST_USE int admission_require(struct admission *a, const struct tenant *t, enum admission_use use,
			       uint64_t now_ns, bool *ret_expired, struct fault *f);
/* Checks that a Workspace with LIVE sessions may have one more. Returns 0, or -1 with a
 * FAULT_ADMISSION in *F. */
MUST_USE int admission_check_sessions(const struct admission *a, const struct tenant *t,
				      size_t live, struct fault *f);
/* Checks that SESSION_ID, the session of an action, is ADMISSION_SESSION. Returns 0, or -1 with a
 * FAULT_ADMISSION in F. */
MUST_USE int admission_check_session_id(struct str session_id, struct fault *f);
/* Changes a spec so that it has the prescribed form. HOST_PATH is the Workspace's own directory.
 * SKILL_ROOT is the directory of the skill package that the spec names, or NULL if the spec names
 * none. Returns 0. If the spec is refused, returns -1 with a FAULT_ADMISSION in *F, and the calling
 * code must not use the spec. */
MUST_USE int admission_rewrite(const struct admission *a, struct box_spec *s, const char *host_path,
			       const char *skill_root, struct fault *f);
