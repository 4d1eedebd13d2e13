/*
 * What this sandbox has resolved: which name gave which address.
 *
 * Rules about names match a connection only through this memory, so a hard-coded address never
 * satisfies one. An entry outlives a short TTL, because programs keep addresses longer than they
 * should, and the memory is bounded: the longest unused entry goes first.
 */
#pragma once

#include "policy/policy.h"

#define RESOLVED_MAX 4096u
#define RESOLVED_KEEP_NS \
	(1800ull * 1000000000) /* half an hour after last use, or the TTL if longer */
#define RESOLVED_TTL_MAX_S 86400u

struct resolved;

struct resolved *resolved_new(void);
void resolved_free(struct resolved *n);

/* NAME is normalised. */
void resolved_remember(struct resolved *n, const char *name, const struct addr *a, uint32_t ttl_s,
		       uint64_t now_ns);
/* Has a name that R covers been resolved to A? Counts as use. */
bool resolved_covers(struct resolved *n, const struct rule *r, const struct addr *a,
		     uint64_t now_ns);
/* The name most recently resolved to A, or NULL. */
const char *resolved_name_of(struct resolved *n, const struct addr *a, uint64_t now_ns);
