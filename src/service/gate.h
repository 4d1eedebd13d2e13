/*
 * The gate enforces grants (service/admission.h). It installs grants, admits tenants, brings their specs into the
 * prescribed form, and ends the sessions of a Workspace that has lost its grant.
 */
#pragma once

#include "service/admission.h"
#include "service/examiner.h"
#include "service/fence.h"
#include "service/skills.h"

struct gate;

/* Everything is borrowed. */
struct gate_parts {
	struct loop *loop;
	struct sessions *sessions;
	struct skills *skills;
	struct workplace *workplace;
	struct examiner *examiner;
	struct fence *fence;
	/* Ends the running sandbox actions of T's Workspace with the fault WHY. If T is NULL, ends those of all
	 * Workspaces. */
	void (*cut)(void *arg, const struct tenant *t, const struct fault *why);
	/* Called when a grant has a higher generation than before. Ends the running actions of lower generations. */
	void (*advanced)(void *arg, const struct tenant *newer);
	void *arg;
};

/* Called with the result. FAULT is NULL if the tenant may use sandboxes. */
typedef void gate_told_fn(void *arg, const struct fault *fault);

/* A and the parts are borrowed. */
struct gate *gate_new(struct admission *a, const struct gate_parts *parts);
void gate_free(struct gate *g);
bool gate_is_on(const struct gate *g);
/* Applies the section `admission`. If the section turns the gate on, all sessions end, because none of them has a grant. */
void gate_configure(struct gate *g, const struct json_value *section);

/* Actions of a peer. TRUSTED is the instance that the server belongs to. */
void gate_install(struct gate *g, const struct json_value *data, struct str trusted,
		  const struct reply *reply);
void gate_revoke(struct gate *g, const struct json_value *data, struct str trusted,
		 const struct reply *reply);

/* Checks readiness, then the grant. Calls FN exactly once, perhaps before this returns. */
void gate_admit(struct gate *g, const struct tenant *t, enum admission_use use, gate_told_fn *fn,
		void *arg);
/* Checks only the grant, without waiting. Returns 0, or -1 with a fault in F. */
MUST_USE int gate_check(struct gate *g, const struct tenant *t, enum admission_use use,
			struct fault *f);
/* Brings B into the form that the policy prescribes. The caller keeps B until FN is called. */
void gate_fit(struct gate *g, const struct tenant *t, struct box_spec *b, gate_told_fn *fn,
	      void *arg);
