/*
 * Through an address of the host, a sandbox would reach the host's services without passing any
 * firewall. So such an address belongs to the group "host", even if it looks public or private.
 * Only a rule for this single address overrides the group. A rule for a network that contains the
 * address does not override the group.
 */
#include "gateway/verdict.h"

static bool was_resolved(void *arg, const struct rule *r, const struct addr *a)
{
	struct gateway *g = arg;

	return resolved_covers(g->resolved, r, a, g->now_ns);
}

/* Returns true if a router translates the address A to an address of the host. */
static bool is_translated(const struct gateway *g, const struct addr *a)
{
	for (size_t i = 0; i < g->config->n_host_addresses; i++)
		if (cidr_has(&g->config->host_address[i], a))
			return true;
	return false;
}

static enum route_kind route_of(struct gateway *g, const struct policy_flow *f,
				const struct addr *a)
{
	return is_translated(g, a) ? ROUTE_HOST : route_to(&g->route, a, f->proto, f->port);
}

enum route_kind verdict_route(struct gateway *g, const struct policy_flow *f)
{
	enum route_kind kind = ROUTE_OUT;
	struct addr carried;

	if (addr_group_of(&f->peer, &g->host) != GROUP_HOST)
		kind = route_of(g, f, &f->peer);
	if (kind == ROUTE_OUT && addr_carried(&f->peer, &carried))
		kind = route_of(g, f, &carried);
	return kind;
}

static struct verdict decide(struct gateway *g, const struct policy_flow *f, enum route_kind route)
{
	struct policy_names names = { .resolved = was_resolved, .arg = g };
	struct verdict v = policy_decide(&g->policy, &g->host, f, &names);
	struct policy_flow to_host = *f;

	if (v.action == POLICY_DENY || route != ROUTE_HOST ||
	    (v.rule != POLICY_BY_DEFAULT && g->policy.rule[v.rule].target == TARGET_CIDR &&
	     cidr_is_single(&g->policy.rule[v.rule].cidr)))
		return v;
	to_host.peer = f->peer.family == ADDR_V4 ? g->lease.gateway_v4 : g->lease.gateway_v6;
	return policy_decide(&g->policy, &g->host, &to_host, NULL);
}

struct verdict verdict_on_flow(struct gateway *g, const struct policy_flow *f,
			       enum route_kind route)
{
	struct verdict v = decide(g, f, route);
	char text[DENIAL_TEXT_BYTES];

	if (v.action == POLICY_ALLOW)
		return v;
	g->counters.denied++;
	if (denials_add_flow(&g->denials, &g->policy, f, v,
			     resolved_name_of(g->resolved, &f->peer, g->now_ns), text))
		control_send_denied(&g->control, text);
	return v;
}

bool verdict_is_by_name(const struct gateway *g, struct verdict v)
{
	return v.rule != POLICY_BY_DEFAULT && rule_is_named(&g->policy.rule[v.rule]);
}

static struct policy_flow egress_flow(const struct flow_key *k)
{
	return (struct policy_flow){ .direction = POLICY_EGRESS,
				     .proto = k->kind == PACKET_TCP ? PROTO_TCP : PROTO_UDP,
				     .peer = k->peer,
				     .port = k->peer_port };
}

bool verdict_on_hello(struct gateway *g, const struct flow_key *k, const struct hello *h)
{
	struct policy_flow f = egress_flow(k);
	bool unread = h->kind == HELLO_BAD || h->kind == HELLO_HIDDEN;
	char text[DENIAL_TEXT_BYTES];
	struct verdict v;

	if (h->kind == HELLO_TLS || h->kind == HELLO_HTTP)
		f.authority = h->name;
	v = verdict_on_flow(g, &f, verdict_route(g, &f));
	if (v.action == POLICY_DENY || f.authority)
		return v.action == POLICY_ALLOW;
	if (unread ? !policy_minds_names(&g->policy, &f, v)
		   : !g->policy.strict || !verdict_is_by_name(g, v))
		return true;
	g->counters.denied++;
	if (denials_add_other(
		    &g->denials,
		    verdict_is_by_name(g, v) ? VERDICT_BY_NAME
					     : "connection that a rule about a name may deny",
		    h->kind == HELLO_BAD      ? "what it shows cannot be read"
		    : h->kind == HELLO_HIDDEN ? "QUIC hides its name; over TCP it is shown"
					      : VERDICT_NO_NAME,
		    text))
		control_send_denied(&g->control, text);
	return false;
}

bool verdict_still_allows(struct gateway *g, const struct flow *f)
{
	struct policy_flow flow = egress_flow(&f->key);
	enum route_kind route = verdict_route(g, &flow);

	return route == ROUTE_OUT ||
	       (route == ROUTE_HOST && decide(g, &flow, route).action == POLICY_ALLOW);
}
