/*
 * Where the kernel would take a packet: out, to the host itself, or nowhere.
 *
 * An address does not show that it is the host's: secondary ones, those of a subnet's routers, whole
 * networks that are routed to loopback look like any other. So the kernel is asked, once for each
 * new flow, on a socket that was opened before the gateway gave up everything else. A second socket
 * hears when the kernel's answer may have changed.
 */
#pragma once

#include "base/err.h"
#include "gateway/packet.h"
#include "policy/policy.h"

struct route {
	int ask, news;   /* netlink sockets */
	uint32_t number; /* of the last question */
};

enum route_kind {
	ROUTE_OUT,     /* to others, or there is no way: then the dial itself will say so */
	ROUTE_HOST,    /* to the host's own services */
	ROUTE_MANY,    /* to everybody: broadcast, multicast */
	ROUTE_UNKNOWN, /* the kernel did not answer: not to be trusted */
};

/* Before confinement. R is closed with route_done() in any case. */
MUST_USE int route_open(struct route *r, struct err *e);
void route_done(struct route *r);

/* Where a packet of PROTO to PORT (0: none) at A would go now. Two system calls, no waiting. */
enum route_kind route_to(struct route *r, const struct addr *a, enum policy_proto proto,
			 uint16_t port);
/* Reads what is in the news; true when some address may be the host's that was not before. */
bool route_changed(struct route *r);
