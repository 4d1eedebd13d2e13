/*
 * The gate enforces grants (service/admission.h). It installs grants and admits tenants. It changes
 * the specs of tenants so that the specs have the prescribed form. It ends the sessions of a
 * Workspace that has lost its grant.
 */
#pragma once

#include "service/admission.h"
#include "service/examiner.h"
#include "service/fence.h"
#include "service/skills.h"

struct grant_gate;

/* All pointers are borrowed. */
struct grant_gate_parts {
	struct loop *loop;
	struct sessions *sessions;
	struct skills *skills;
	struct workplace *workplace;
	struct examiner *examiner;
	struct fence *fence;
	/* Ends the running sandbox actions of the tenant's Workspace with the fault *WHY. If T is
	 * NULL, ends the actions of all Workspaces. */
	void (*cut)(void *arg, const struct tenant *t, const struct fault *why);
	/* Called when a grant has a higher generation than before. Must end the running actions of
	 * lower generations. */
	void (*advanced)(void *arg, const struct tenant *newer);
	void *arg;
};

/* The gate calls this function with its decision. FAULT is NULL if the gate lets the request pass;
 * otherwise FAULT says why it does not. */
typedef void grant_gate_told_fn(void *arg, const struct fault *fault);

/* *A and all parts are borrowed. */
struct grant_gate *grant_gate_new(struct admission *a, const struct grant_gate_parts *parts);
void grant_gate_free(struct grant_gate *g);
bool grant_gate_is_on(const struct grant_gate *g);
/* Applies the section `admission` of a configuration. If this turns the gate on, all sessions end,
 * because no Workspace has a grant yet. */
void grant_gate_configure(struct grant_gate *g, const struct json_value *section);

/* A peer sends an action with DATA to install or to revoke a grant. These functions carry out the
 * action and then call REPLY with the receipt or a fault. TRUSTED is the LangBot instance to which
 * this server belongs. */
void grant_gate_install(struct grant_gate *g, const struct json_value *data, struct str trusted,
			const struct reply *reply);
void grant_gate_revoke(struct grant_gate *g, const struct json_value *data, struct str trusted,
		       const struct reply *reply);

/* Checks that the server is ready (service/readiness.h), then that the tenant has a grant. Calls FN
 * exactly once, perhaps before grant_gate_admit() returns. */
void grant_gate_admit(struct grant_gate *g, const struct tenant *t, enum admission_use use,
		      grant_gate_told_fn *fn, void *arg);
/* Checks only the grant, not readiness, so this function never waits. If the grant has expired,
 * ends the sessions of the Workspace. Returns 0, or -1 with a fault in *F. */
MUST_USE int grant_gate_check(struct grant_gate *g, const struct tenant *t, enum admission_use use,
			      struct fault *f);
/* Changes the spec *B so that it has the form that the policy prescribes. Calls FN exactly once,
 * with a fault if *B or one more session is not allowed. *B must stay valid until FN is called. */
void grant_gate_fit(struct grant_gate *g, const struct tenant *t, struct box_spec *b,
		    grant_gate_told_fn *fn, void *arg);
