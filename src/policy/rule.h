/*
 * One rule of a network policy: it allows or denies the traffic that it matches.
 *
 * A rule is a plain value: it can be copied and compared. People write a rule as a token,
 * ACTION[:DIR]@TARGET[:PROTO[:PORTS]], and messages about denied traffic use the same form.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/addr.h"
#include "policy/name.h"

enum policy_action { POLICY_DENY, POLICY_ALLOW };
enum policy_direction { POLICY_EGRESS, POLICY_INGRESS, POLICY_BOTH };

/* Each protocol is a bit, because a rule may name several protocols. A rule without any bit matches
 * every protocol. */
enum policy_proto {
	PROTO_TCP = 1 << 0,
	PROTO_UDP = 1 << 1,
	PROTO_ICMPV4 = 1 << 2,
	PROTO_ICMPV6 = 1 << 3,
};
#define PROTO_COUNT 4u
const char *proto_name(enum policy_proto p); /* "icmpv4" */

enum rule_target { TARGET_ANY, TARGET_GROUP, TARGET_CIDR, TARGET_DOMAIN, TARGET_SUFFIX };

struct port_range {
	uint16_t start, end; /* the range includes both ports */
};

/* a token has one range of ports; a rule in a configuration file may have several */
#define RULE_PORTS_MAX 8u
#define DNS_PORT 53u

struct rule {
	enum policy_action action;
	enum policy_direction direction;
	enum rule_target target;
	enum addr_group group;      /* only for TARGET_GROUP */
	struct cidr cidr;           /* only for TARGET_CIDR */
	char name[NAME_TEXT_BYTES]; /* only for TARGET_DOMAIN and TARGET_SUFFIX; in normal form */
	unsigned protocols;         /* enum policy_proto bits; 0 means any */
	unsigned n_ports;           /* 0 means any port */
	struct port_range port[RULE_PORTS_MAX];
};

/* Returns a rule that allows DNS questions to the gateway's resolver, by UDP and TCP. */
struct rule rule_allow_dns(void);
struct rule rule_allow_group(enum addr_group g);

static inline bool rule_is_named(const struct rule *r)
{
	return r->target == TARGET_DOMAIN || r->target == TARGET_SUFFIX;
}
static inline bool rule_is_scoped(const struct rule *r)
{
	return r->protocols != 0 || r->n_ports != 0;
}
bool rule_covers_name(const struct rule *r, const char *name);
bool rule_covers_port(const struct rule *r, enum policy_proto proto, uint16_t port);

#define RULE_TEXT_BYTES 384
void rule_format(const struct rule *r, char out[RULE_TEXT_BYTES]);

/* Parses one token. Fails with ERR_INVALID, and suggests a similar word if there is one. The
 * error messages begin with "--net-rule". */
MUST_USE int rule_parse(struct str token, struct rule *ret, struct err *e);
