/*
 * Makes a policy from the network options of the command line.
 *
 * The caller fills struct policy_options with the values that the user wrote, in the user's order.
 * Conflicts are ERR_USAGE, and bad values are ERR_INVALID. Every error message mentions
 * the option that it is about, such as --net-rule.
 */
#pragma once

#include "policy/policy.h"

struct policy_strings {
	const char *const *v;
	size_t n;
};

struct policy_options {
	struct policy_strings net; /* values of --net; each is a comma list */
	bool no_net;               /* --no-net, --no-network */
	const char *net_default;   /* --net-default */
	const char *net_default_egress;
	const char *net_default_ingress;
	struct policy_strings rules; /* values of --net-rule; each is a comma list */
	bool strict;
	bool multi_tenant; /* --deployment-profile multi-tenant */
	bool no_rebind_protection;
	struct policy_strings nameservers; /* --dns-nameserver */
	uint64_t query_timeout_ms;         /* 0 if not given */
	const char *ipv4_pool, *ipv6_pool; /* NULL if not given */
	uint64_t max_connections;          /* 0 if not given */
	/* Each line has four values. Their forms are, in this order: BYTES[/DURATION], BYTES,
	 * N[/DURATION], N. A value that was not given is NULL. */
	const char *egress_bandwidth, *egress_bandwidth_burst, *egress_ops, *egress_ops_burst;
	const char *ingress_bandwidth, *ingress_bandwidth_burst, *ingress_ops, *ingress_ops_burst;
};

/* Fills *P from *O. *P need not be initialised. */
MUST_USE int policy_from_options(const struct policy_options *o, struct policy *p, struct err *e);
/* For `modify`: removes the rules in RM and puts the rules in ADD before all rules that are left.
 * Each string of RM and ADD is a comma list in the syntax of --net-rule. If MULTI_TENANT is true,
 * the rules that separate tenants stay before all others. */
MUST_USE int policy_edit_rules(struct policy *p, const struct policy_strings *add,
			       const struct policy_strings *rm, bool multi_tenant, struct err *e);
/* For `modify`: applies only the rules and the default actions of *O. The rest of *P stays. */
MUST_USE int policy_change_rules(const struct policy_options *o, struct policy *p, struct err *e);
