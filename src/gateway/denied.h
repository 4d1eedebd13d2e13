/*
 * What was refused, told once each: the name or address, the rule that refused it, and the option
 * that would allow it. The memory of what was told is bounded; when it is full, one last line says
 * that there is more.
 */
#pragma once

#include "policy/policy.h"

#define DENIED_MAX 1024u
#define DENIED_TEXT_BYTES 1024

struct denied {
	uint64_t seen[2 * DENIED_MAX]; /* open addressing; 0 is empty */
	unsigned n;
};

void denied_reset(struct denied *d);

/* Each returns true and fills TEXT when this is news. NAME may be NULL. */
bool denied_flow(struct denied *d, const struct policy *p, const struct addr_host *host,
		 const struct policy_flow *f, struct verdict v, const char *name,
		 char text[DENIED_TEXT_BYTES]);
bool denied_query(struct denied *d, const struct policy *p, const char *name, struct verdict v,
		  char text[DENIED_TEXT_BYTES]);
bool denied_answer(struct denied *d, const char *name, const struct addr *a,
		   char text[DENIED_TEXT_BYTES]);
/* WHAT was refused for a reason that is no rule: WHY. */
bool denied_other(struct denied *d, const char *what, const char *why,
		  char text[DENIED_TEXT_BYTES]);
