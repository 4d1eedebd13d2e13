/*
 * Admission: in "grant enforced" mode a Workspace may use sandboxes only while it holds a grant, and
 * only in the one form that the policy prescribes.
 *
 * Pure state: the time is an argument, and what must be done to sessions is returned, not done. Once the
 * mode is on, nothing but a restart turns it off; a configuration that cannot be understood turns it on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "service/boxspec.h"
#include "service/fault.h"
#include "service/roll.h"
#include "service/tenant.h"

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

/* What a server knows of one Workspace. */
struct admission_record {
	unsigned char key[TENANT_KEY_BYTES];
	bool granted; /* the five that follow count */
	uint64_t generation;
	uint64_t revision;
	uint64_t expires_ns; /* real time */
	int64_t max_sessions, max_managed_processes;
	/* these never fall */
	uint64_t highest_generation, highest_revision, revoked_revision;
};

struct admission {
	bool active;
	struct admission_policy policy;
	char *error; /* owned: what is wrong with the configuration, or NULL */
	size_t max;  /* records; the owner may change it */
	struct roll roll;
	size_t cap;
	struct admission_record *record; /* by number in the roll */
};

void admission_init(struct admission *a, size_t max);
void admission_done(struct admission *a);
/* Takes the section `admission` of a configuration; NULL or null: there is none. */
void admission_configure(struct admission *a, const struct json_value *section);
/* The configuration's error as a failure: 0 when there is none, or -1 with a FAULT_READINESS. */
MUST_USE int admission_check_config(const struct admission *a, struct fault *f);

/* 0 if grants are enforced, or -1 with a FAULT_ADMISSION. */
MUST_USE int admission_check_enabled(const struct admission *a, struct fault *f);

/* --- grants ------------------------------------------------------------------------------------- */

/* SandboxAdmissionGrant and SandboxAdmissionRevocation; the latter has the first two and a revision. */
struct admission_grant {
	char *instance, *workspace; /* owned */
	uint64_t generation, revision, expires_ns;
	int64_t max_sessions, max_managed_processes;
};

/* 0, or -1 with a FAULT_VALIDATION. */
MUST_USE int admission_grant_decode(const struct json_value *v, struct admission_grant *ret,
				    struct fault *f);
MUST_USE int admission_revocation_decode(const struct json_value *v, struct admission_grant *ret,
					 struct fault *f);
void admission_grant_done(struct admission_grant *g);

enum admission_effect {
	ADMISSION_NONE,          /* a shorter expiry of the grant in force: nothing changed */
	ADMISSION_KEEP_ONE,      /* drop the Workspace's sessions, but not ADMISSION_SESSION */
	ADMISSION_DROP_SESSIONS, /* drop all of them */
};

/* Installs a grant. FENCED is the generation that the fence knows of the Workspace (0: none); the owner
 * lets the fence observe the grant's generation afterwards. *RET_RECORD is the grant in force, for the
 * receipt; it is valid until the next call. 0, or -1 with a fault. */
MUST_USE int admission_install(struct admission *a, const struct admission_grant *g,
			       struct str trusted, uint64_t fenced, uint64_t now_ns,
			       enum admission_effect *ret_effect,
			       const struct admission_record **ret_record, struct fault *f);
/* Revokes: on success all sessions of the Workspace must go. */
MUST_USE int admission_revoke(struct admission *a, const struct admission_grant *g,
			      struct str trusted, struct fault *f);
/* The members of the receipts. */
void admission_encode_receipt(const struct admission_grant *g, const struct admission_record *r,
			      struct json_writer *w);
void admission_encode_revoked(const struct admission_grant *g, struct json_writer *w);
/* Removes grants that have expired: EXPIRED is told the key of each Workspace whose sessions must go. */
void admission_expire(struct admission *a, uint64_t now_ns,
		      void (*expired)(void *arg, const unsigned char key[TENANT_KEY_BYTES]),
		      void *arg);

/* The real time at which the next grant expires; 0 if there is no grant. */
uint64_t admission_next_expiry(const struct admission *a);

/* --- what a grant allows ------------------------------------------------------------------------ */

enum admission_use { ADMISSION_SESSIONS, ADMISSION_PROCESSES, ADMISSION_RELAY };

/* May this tenant use sandboxes now? Ask readiness first. 0, or -1 with a FAULT_ADMISSION; *RET_EXPIRED
 * is true when a grant was removed because it expired: its sessions must go. */
MUST_USE int admission_require(struct admission *a, const struct tenant *t, enum admission_use use,
			       uint64_t now_ns, bool *ret_expired, struct fault *f);
/* May one more session be made besides LIVE ones of this Workspace? */
MUST_USE int admission_check_sessions(const struct admission *a, const struct tenant *t,
				      size_t live, struct fault *f);
/* Actions on an existing session may name only one. */
MUST_USE int admission_check_session_id(struct str session_id, struct fault *f);
/* Brings a spec into the prescribed form. HOST_PATH is the Workspace's own directory, SKILL_ROOT the
 * directory of the package that the spec names (NULL: it is not available). 0, or -1 with a
 * FAULT_ADMISSION, and the spec must not be used. */
MUST_USE int admission_rewrite(const struct admission *a, struct box_spec *s, const char *host_path,
			       const char *skill_root, struct fault *f);
