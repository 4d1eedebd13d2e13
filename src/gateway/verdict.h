/*
 * Verdicts on flows. First the kernel says where a flow leads, then policy allows or refuses the
 * flow. If the guest's bytes later show a host name, policy judges the flow again. Each refusal is
 * reported to the supervisor once (gateway/denials.h).
 */
#pragma once

#include "gateway/gateway.h"

#define VERDICT_BY_NAME "connection allowed by name"
#define VERDICT_NO_NAME "it shows no name, and --net-strict asks for one"

/* Returns where the flow would lead, or ROUTE_OUT for the gateway's own addresses. If the peer's
 * IPv6 address contains an IPv4 address, the route of the IPv4 address counts, too. */
enum route_kind verdict_route(struct gateway *g, const struct policy_flow *f);
/* Returns the verdict of policy. ROUTE is the result of verdict_route(). */
struct verdict verdict_on_flow(struct gateway *g, const struct policy_flow *f,
			       enum route_kind route);
/* Returns true if a rule about a name gave the verdict. */
bool verdict_is_by_name(const struct gateway *g, struct verdict v);
/* Judges a flow again by the host name that the guest's bytes show. The verdict is the same as
 * if the name had been known at the start. Returns true if the flow is allowed. */
bool verdict_on_hello(struct gateway *g, const struct flow_key *k, const struct hello *h);
/* Judges a flow again after the host's addresses have changed. Returns true if the flow may stay:
 * it still leads to another machine, or policy lets the sandbox reach the host. */
bool verdict_still_allows(struct gateway *g, const struct flow *f);
