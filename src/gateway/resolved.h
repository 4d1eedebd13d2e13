/*
 * Remembers which names this sandbox has resolved, and to which addresses.
 *
 * A rule about a name matches a connection only if this table has the name with the connection's
 * address. So if a program uses a fixed address without asking for the name, the rule does not
 * match. An entry stays longer than a short TTL, because programs use addresses longer than they
 * should. The table has a limited size. When it is full, the entry whose last use is longest ago is
 * removed.
 */
#pragma once

#include "policy/policy.h"

#define RESOLVED_MAX 4096u
/* an entry stays at least this long after its last use */
#define RESOLVED_KEEP_NS (1800ull * 1000000000)
#define RESOLVED_TTL_MAX_S 86400u

struct resolved;

struct resolved *resolved_new(void);
void resolved_free(struct resolved *n);

/* Remembers that NAME, which is normalised, was resolved to A. */
void resolved_remember(struct resolved *n, const char *name, const struct addr *a, uint32_t ttl_s,
		       uint64_t now_ns);
/* Returns true if a name that R covers was resolved to A. This counts as a use of the entry. */
bool resolved_covers(struct resolved *n, const struct rule *r, const struct addr *a,
		     uint64_t now_ns);
/* Returns a name that was resolved to A, or NULL. If there are several names, returns the name that
 * was added to the table last. */
const char *resolved_name_of(struct resolved *n, const struct addr *a, uint64_t now_ns);
