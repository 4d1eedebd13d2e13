/*
 * Reports each refusal once. The report has the name or address, and the rule or another reason for
 * the refusal. If an option of `modify` would allow it, the report has this option too. The table
 * of reported refusals is bounded. When the table is full, one last report says so.
 */
#pragma once

#include "policy/policy.h"
#include "wire/refusals.h"

#define DENIALS_MAX 1024u
#define DENIAL_TEXT_BYTES 1024

struct denials {
	/* a hash table with open addressing; 0 marks an empty slot */
	uint64_t seen[2 * DENIALS_MAX];
	unsigned n;
	/* the list that pid 1 reads; the gateway adds every refused connection that the sandbox
	 * itself began. May be NULL */
	struct refusals *refusals;
};

void denials_reset(struct denials *d);

/* Each function returns true and fills TEXT if the refusal was not reported before. For
 * denials_add_flow() NAME may be NULL. */
bool denials_add_flow(struct denials *d, const struct policy *p, const struct policy_flow *f,
		      struct verdict v, const char *name, char text[DENIAL_TEXT_BYTES]);
bool denials_add_query(struct denials *d, const struct policy *p, const char *name,
		       struct verdict v, char text[DENIAL_TEXT_BYTES]);
bool denials_add_answer(struct denials *d, const char *name, const struct addr *a,
			char text[DENIAL_TEXT_BYTES]);
/* Reports that WHAT was refused for the reason WHY, which is not a rule of the policy. */
bool denials_add_other(struct denials *d, const char *what, const char *why,
		       char text[DENIAL_TEXT_BYTES]);
