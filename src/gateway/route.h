/*
 * Asks the kernel where it would send a packet: out, to the host itself, or nowhere.
 *
 * An address does not show that it belongs to the host: secondary addresses, anycast addresses of a
 * subnet's routers and whole networks that are routed to loopback look like any others. So we ask the
 * kernel once for each new flow, on a socket that we opened before confine(). A second socket tells us
 * when the kernel's answers may have changed.
 */
#pragma once

#include "base/err.h"
#include "gateway/packet.h"
#include "policy/policy.h"

struct route {
	int ask, news;   /* netlink sockets: for questions, and for changes */
	uint32_t number; /* number of the last question */
};

enum route_kind {
	ROUTE_OUT,     /* to other machines; or there is no route, and then connecting will fail */
	ROUTE_HOST,    /* to the host's own services */
	ROUTE_MANY,    /* broadcast, multicast */
	ROUTE_UNKNOWN, /* the kernel did not answer: do not send */
};

/* Must run before confine(). The caller closes R with route_done() in any case. */
MUST_USE int route_open(struct route *r, struct err *e);
void route_done(struct route *r);

/* Returns where a packet of PROTO to A and PORT (0: no port) would go now. Takes two system calls
 * and does not wait. */
enum route_kind route_to(struct route *r, const struct addr *a, enum policy_proto proto,
			 uint16_t port);
/* Reads the kernel's news. True if an address may have become the host's. */
bool route_changed(struct route *r);
