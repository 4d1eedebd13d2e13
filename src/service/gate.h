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

struct gate;

/* All pointers are borrowed. */
struct gate_parts {
	struct loop *loop;
	struct sessions *sessions;
	struct skills *skills;
	struct workplace *workplace;
	struct examiner *examiner;
	struct fence *fence;
	/* Ends the running sandbox actions of the tenant's Workspace with the fault *WHY. If T is NULL, ends the
	 * actions of all Workspaces. */
	void (*cut)(void *arg, const struct tenant *t, const struct fault *why);
	/* Called when a grant has a higher generation than before. Must end the running actions of lower
	 * generations. */
	void (*advanced)(void *arg, const struct tenant *newer);
	void *arg;
};

/* The gate calls this function with a result. FAULT is NULL if the tenant may use sandboxes. */
typedef void gate_told_fn(void *arg, const struct fault *fault);

/* *A and all parts are borrowed. */
struct gate *gate_new(struct admission *a, const struct gate_parts *parts);
void gate_free(struct gate *g);
bool gate_is_on(const struct gate *g);
/* Applies the section `admission` of a configuration. If this turns the gate on, all sessions end, because no
 * Workspace has a grant yet. */
void gate_configure(struct gate *g, const struct json_value *section);

/* These functions carry out actions of a peer. TRUSTED is the instance to which the server
 * belongs. */
void gate_install(struct gate *g, const struct json_value *data, struct str trusted,
		  const struct reply *reply);
void gate_revoke(struct gate *g, const struct json_value *data, struct str trusted,
		 const struct reply *reply);

/* Checks readiness, then the grant. Calls FN exactly once, perhaps before gate_admit() returns. */
void gate_admit(struct gate *g, const struct tenant *t, enum admission_use use, gate_told_fn *fn,
		void *arg);
/* Checks only the grant, not readiness, so it never waits. Returns 0, or -1 with a fault in *F. */
MUST_USE int gate_check(struct gate *g, const struct tenant *t, enum admission_use use,
			struct fault *f);
/* Changes the spec *B so that it has the form that the policy prescribes. *B must stay valid until
 * FN is called. */
void gate_fit(struct gate *g, const struct tenant *t, struct box_spec *b, gate_told_fn *fn,
	      void *arg);
