/*
 * Asks the kernel where it would send a packet: to another machine, to many machines, to the host
 * itself, or nowhere.
 *
 * Only the kernel knows whether an address belongs to the host. For example, the address may be a
 * secondary address, an anycast address of a subnet's routers, or an address in a network that is
 * routed to loopback. So we ask the kernel once for each new flow, on a socket that we opened
 * before confine(). On a second socket the kernel reports changes of routes and addresses.
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
	ROUTE_OUT,     /* to another machine, or there is no route and connect() will fail */
	ROUTE_HOST,    /* to the host itself */
	ROUTE_MANY,    /* to many machines: broadcast or multicast */
	ROUTE_UNKNOWN, /* the kernel gave no usable answer, so nothing is sent */
};

/* Must run before confine(). The caller must call route_done() even after a failure. */
MUST_USE int route_open(struct route *r, struct err *e);
void route_done(struct route *r);

/* Returns where a packet of PROTO to A and PORT (0 if it has no port) would go now. Makes two
 * system calls and does not wait. */
enum route_kind route_to(struct route *r, const struct addr *a, enum policy_proto proto,
			 uint16_t port);
/* Reads the kernel's reports. Returns true if the host may have a new address. */
bool route_changed(struct route *r);
