/*
 * What a sandbox may reach, and which peers may reach it.
 *
 * A policy is an ordered list of rules, and a default action for each direction. The first matching
 * rule decides. policy_decide() is a pure function: it uses no clock and no sockets, and allocates
 * no memory. The calling code must tell which names this sandbox has resolved to which addresses.
 *
 * struct policy also has the other settings of the `network` object that shape traffic (resolver,
 * address pools, limits). These settings are in the same struct as the rules because they are
 * passed on in the same way: options fill the struct, the sandbox's record keeps it as JSON, and
 * the gateway obeys it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "policy/rule.h"

/* more rules than people write; the limit bounds the time of a decision */
#define POLICY_RULES_MAX 512u
/* few, because the gateway asks one nameserver after the other, each with a timeout */
#define POLICY_NAMESERVERS_MAX 8u
#define POLICY_NAMESERVER_BYTES 264 /* HOST:PORT */
#define POLICY_MAX_CONNECTIONS 256u /* the default of --max-connections */
#define POLICY_CONNECTIONS_LIMIT 16384u
#define POLICY_QUERY_TIMEOUT_MS 5000u
#define POLICY_QUERY_TIMEOUT_LIMIT_MS 600000u
#define POLICY_IPV4_POOL "172.16.0.0/12"
#define POLICY_IPV6_POOL "fd42:6d73:62::/48"

/* A token bucket. Amount 0 means no limit. */
struct rate_limit {
	uint64_t amount; /* bytes or packets per interval */
	uint32_t interval_ms;
	uint64_t burst; /* the bucket's size; 0 means the same as amount */
};

struct policy_rates {
	struct rate_limit egress_bandwidth, egress_ops, ingress_bandwidth, ingress_ops;
};

struct policy {
	enum policy_action default_egress, default_ingress;
	struct rule *rule; /* owned */
	size_t n_rules;
	/* a connection must show the name that a rule allows (TLS SNI, HTTP Host) */
	bool strict;
	uint32_t max_connections;

	char nameserver[POLICY_NAMESERVERS_MAX][POLICY_NAMESERVER_BYTES];
	size_t n_nameservers; /* 0 means the host's nameservers */
	uint32_t query_timeout_ms;
	bool rebind_protection;

	struct cidr ipv4_pool, ipv6_pool;
	struct policy_rates rates;
};

/* Makes a policy that denies all traffic. All other settings get their defaults. */
void policy_init(struct policy *p);
void policy_done(struct policy *p);
/* Fails with ERR_LIMIT beyond POLICY_RULES_MAX. */
MUST_USE int policy_add_rule(struct policy *p, const struct rule *r, struct err *e);

/* --- deciding ------------------------------------------------------------------------------- */

/* A question about names that only the calling code can answer. */
struct policy_names {
	/* Returns true if a name that the rule R covers was resolved to ADDR by this sandbox. */
	bool (*resolved)(void *arg, const struct rule *r, const struct addr *addr);
	void *arg;
};

struct policy_flow {
	enum policy_direction direction; /* EGRESS or INGRESS */
	enum policy_proto proto;         /* exactly one of the bits */
	struct addr peer;                /* egress: the destination; ingress: the source */
	uint16_t port;         /* egress: the destination's port; ingress: the guest's port */
	const char *authority; /* the name the client showed (SNI, Host), or NULL */
};

#define POLICY_BY_DEFAULT (-1)
struct verdict {
	enum policy_action action;
	int rule; /* index of the rule that matched, or POLICY_BY_DEFAULT */
};

/* If NAMES is NULL, no name counts as resolved. If the client showed a name (the authority), an
 * allow rule about names matches only under two conditions. First, the rule covers the shown name.
 * Second, a name that the rule covers was resolved to the address of the peer. For a deny rule one
 * of the two conditions is enough. If the client showed no name, only the second condition
 * counts. */
struct verdict policy_decide(const struct policy *p, const struct addr_host *host,
			     const struct policy_flow *f, const struct policy_names *names);
/* Decides whether the sandbox may ask the resolver for NAME. PROTO is the protocol that carries the
 * DNS question. */
struct verdict policy_decide_query(const struct policy *p, enum policy_proto proto,
				   const char *name);
/* Returns true if a DNS answer may hold the address *A. Returns false only for an address that the
 * protection against DNS rebinding refuses. */
bool policy_allows_answer(const struct policy *p, const struct addr_host *host,
			  const struct addr *a);

/* Returns true if no packet can ever pass in either direction, so that no interface is needed. */
bool policy_is_closed(const struct policy *p);
/* V is the verdict about the flow *F before the client has shown a name. Returns true if V may
 * change when the client shows a name: if a rule about a name gave V, or if an earlier rule denies
 * a name. */
bool policy_minds_names(const struct policy *p, const struct policy_flow *f, struct verdict v);

/* --- as JSON -------------------------------------------------------------------------------- */

/* Writes one object with members of `network`, sorted by key: dns, interface, max_connections,
 * policy, rates, strict. */
void policy_write_json(const struct policy *p, struct json_writer *w);
/* Reads the output of policy_write_json, or the members of a whole `network` object. Ignores
 * unknown members; absent members keep their defaults. If it fails, P is as after policy_init(). */
MUST_USE int policy_read_json(const struct json_value *v, struct policy *p, struct err *e);
