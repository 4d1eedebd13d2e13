/*
 * The gate in front of sandboxes where grants are enforced (service/admission.h): it takes grants, lets tenants pass,
 * brings their specs into the prescribed form, and ends the sessions of a Workspace that has lost its grant.
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
	/* Ends the running sandbox actions of the Workspace of T with this fault; all of them if T is NULL. */
	void (*cut)(void *arg, const struct tenant *t, const struct fault *why);
	/* A grant has a higher generation: ends the running actions of older ones. */
	void (*advanced)(void *arg, const struct tenant *newer);
	void *arg;
};

/* FAULT is NULL if the tenant may pass. */
typedef void gate_told_fn(void *arg, const struct fault *fault);

/* A is borrowed, like the parts: the owner keeps the rules, the gate applies them. */
struct gate *gate_new(struct admission *a, const struct gate_parts *parts);
void gate_free(struct gate *g);
bool gate_is_on(const struct gate *g);
/* Takes the section `admission`. If that turns the gate on, every session ends: none of them has a grant. */
void gate_configure(struct gate *g, const struct json_value *section);

/* The actions. TRUSTED is the instance that the server belongs to. */
void gate_install(struct gate *g, const struct json_value *data, struct str trusted,
		  const struct reply *reply);
void gate_revoke(struct gate *g, const struct json_value *data, struct str trusted,
		 const struct reply *reply);

/* Asks for readiness, then for the grant. FN is called exactly once, perhaps before this returns. */
void gate_admit(struct gate *g, const struct tenant *t, enum admission_use use, gate_told_fn *fn,
		void *arg);
/* The grant alone, without waiting. */
MUST_USE int gate_check(struct gate *g, const struct tenant *t, enum admission_use use,
			struct fault *f);
/* Brings B, which the caller keeps until FN is called, into the form that the policy prescribes. */
void gate_fit(struct gate *g, const struct tenant *t, struct box_spec *b, gate_told_fn *fn,
	      void *arg);
