#include "policy/policy.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void policy_init(struct policy *p)
{
	*p = (struct policy){ .default_egress = POLICY_DENY,
			      .default_ingress = POLICY_DENY,
			      .max_connections = POLICY_MAX_CONNECTIONS,
			      .query_timeout_ms = POLICY_QUERY_TIMEOUT_MS,
			      .rebind_protection = true };
	/* cannot fail, because the text is a valid constant */
	IGNORE(cidr_parse(str_of(POLICY_IPV4_POOL), &p->ipv4_pool));
	IGNORE(cidr_parse(str_of(POLICY_IPV6_POOL), &p->ipv6_pool));
}

void policy_done(struct policy *p)
{
	if (!p)
		return;
	free(p->rule);
	p->rule = NULL;
	p->n_rules = 0;
}

int policy_add_rule(struct policy *p, const struct rule *r, struct err *e)
{
	if (p->n_rules >= POLICY_RULES_MAX)
		return err_set(e, ERR_LIMIT, "more than %u network rules", POLICY_RULES_MAX);
	p->rule = xreallocarray(p->rule, p->n_rules + 1, sizeof(*p->rule));
	p->rule[p->n_rules++] = *r;
	return 0;
}

static bool matches_name(const struct rule *r, const struct policy_flow *f,
			 const struct policy_names *names)
{
	bool resolved = names && names->resolved(names->arg, r, &f->peer);
	bool shown = f->authority && rule_covers_name(r, f->authority);

	if (r->action == POLICY_ALLOW)
		return resolved && (shown || !f->authority);
	return resolved || shown;
}

/* A translator on the way turns an IPv6 address of NAT64 or 6to4 into the IPv4 address in it. So a
 * deny rule about this IPv4 address matches the IPv6 address, too. An allow rule matches only the
 * address that it names. */
static bool matches_address(const struct rule *r, const struct addr *a)
{
	struct addr carried;

	return cidr_has(&r->cidr, a) || (r->action == POLICY_DENY && addr_carried(a, &carried) &&
					 cidr_has(&r->cidr, &carried));
}

static bool matches_peer(const struct rule *r, const struct addr_host *host,
			 const struct policy_flow *f, const struct policy_names *names)
{
	switch (r->target) {
	case TARGET_ANY:
		return true;
	case TARGET_GROUP:
		return addr_group_of(&f->peer, host) == r->group;
	case TARGET_CIDR:
		return matches_address(r, &f->peer);
	case TARGET_DOMAIN:
	case TARGET_SUFFIX:
		return matches_name(r, f, names);
	}
	return false;
}

struct verdict policy_decide(const struct policy *p, const struct addr_host *host,
			     const struct policy_flow *f, const struct policy_names *names)
{
	for (size_t i = 0; i < p->n_rules; i++) {
		const struct rule *r = &p->rule[i];

		if ((r->direction == f->direction || r->direction == POLICY_BOTH) &&
		    rule_covers_port(r, f->proto, f->port) && matches_peer(r, host, f, names))
			return (struct verdict){ r->action, (int)i };
	}
	return (struct verdict){ f->direction == POLICY_EGRESS ? p->default_egress
							       : p->default_ingress,
				 POLICY_BY_DEFAULT };
}

/*
 * A DNS question goes to port 53 of the gateway itself, so rules about the group `host` or about
 * `any` match as they would match a connection to that port. Rules about names match the name that
 * is asked for. An allow rule about a name matches, whatever its ports are: a client that may
 * connect to example.com:443 must be able to resolve example.com. A deny rule about a name matches
 * only if it is not limited to protocols or ports. Rules about prefixes or about other groups never
 * match.
 */
static bool matches_query(const struct rule *r, enum policy_proto proto, const char *name)
{
	if (r->direction == POLICY_INGRESS)
		return false;
	switch (r->target) {
	case TARGET_ANY:
		return rule_covers_port(r, proto, DNS_PORT);
	case TARGET_GROUP:
		return r->group == GROUP_HOST && rule_covers_port(r, proto, DNS_PORT);
	case TARGET_CIDR:
		return false;
	case TARGET_DOMAIN:
	case TARGET_SUFFIX:
		return rule_covers_name(r, name) &&
		       (r->action == POLICY_ALLOW || !rule_is_scoped(r));
	}
	return false;
}

struct verdict policy_decide_query(const struct policy *p, enum policy_proto proto,
				   const char *name)
{
	for (size_t i = 0; i < p->n_rules; i++)
		if (matches_query(&p->rule[i], proto, name))
			return (struct verdict){ p->rule[i].action, (int)i };
	return (struct verdict){ p->default_egress, POLICY_BY_DEFAULT };
}

/*
 * DNS rebinding is an attack in which a public name resolves to an internal address. Only a rule
 * about addresses alone (a group or a prefix, without protocols and ports) allows such an answer.
 * Such a rule shows that the user wants the sandbox to reach these addresses.
 */
bool policy_allows_answer(const struct policy *p, const struct addr_host *host,
			  const struct addr *a)
{
	enum addr_group g = addr_group_of(a, host);

	if (!p->rebind_protection || g == GROUP_PUBLIC || g == GROUP_MULTICAST)
		return true;
	for (size_t i = 0; i < p->n_rules; i++) {
		const struct rule *r = &p->rule[i];

		if (r->direction == POLICY_INGRESS || rule_is_scoped(r))
			continue;
		if ((r->target == TARGET_GROUP && r->group == g) ||
		    (r->target == TARGET_CIDR && matches_address(r, a)))
			return r->action == POLICY_ALLOW;
	}
	return false;
}

bool policy_is_closed(const struct policy *p)
{
	if (p->default_egress == POLICY_ALLOW || p->default_ingress == POLICY_ALLOW)
		return false;
	for (size_t i = 0; i < p->n_rules; i++)
		if (p->rule[i].action == POLICY_ALLOW)
			return false;
	return true;
}

bool policy_minds_names(const struct policy *p, const struct policy_flow *f, struct verdict v)
{
	size_t n = v.rule == POLICY_BY_DEFAULT ? p->n_rules : (size_t)v.rule;

	if (v.rule != POLICY_BY_DEFAULT && rule_is_named(&p->rule[v.rule]))
		return true;
	for (size_t i = 0; i < n; i++) {
		const struct rule *r = &p->rule[i];

		if (rule_is_named(r) && r->action == POLICY_DENY &&
		    (r->direction == f->direction || r->direction == POLICY_BOTH) &&
		    rule_covers_port(r, f->proto, f->port))
			return true;
	}
	return false;
}
