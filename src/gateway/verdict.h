/*
 * What policy says of a flow, once the kernel has said where it leads; and of what a client shows. Each refusal
 * is told to the supervisor here.
 */
#pragma once

#include "gateway/gateway.h"

#define VERDICT_BY_NAME "connection allowed by name"
#define VERDICT_NO_NAME "it shows no name, and --net-strict asks for one"

/* Where the flow would end. The gateway's own addresses are a matter of policy alone. */
enum route_kind verdict_route(struct gateway *g, const struct policy_flow *f);
/* ROUTE is what verdict_route() said. */
struct verdict verdict_on_flow(struct gateway *g, const struct policy_flow *f,
			       enum route_kind route);
/* A rule about a name gave it. */
bool verdict_is_by_name(const struct gateway *g, struct verdict v);
/* What a client shows is judged as if it had been known from the start. */
bool verdict_on_hello(struct gateway *g, const struct flow_key *k, const struct hello *h);
/* The host may have other addresses now. True when a flow may stay: it leads out as before, or policy lets the
 * sandbox reach the host. */
bool verdict_still_allows(struct gateway *g, const struct flow *f);
