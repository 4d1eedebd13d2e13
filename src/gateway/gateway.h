/*
 * The gateway of one sandbox. It does everything between the sandbox's link and the sockets of the
 * host.
 *
 * The firewall parses and judges each frame of the guest. It passes allowed frames to the stack
 * (libslirp) and DNS questions to the resolver, and refuses the rest. Frames that the stack and the
 * resolver make for the guest pass through the firewall, too. The gateway has one thread, which
 * waits in one poll(2). It does not use our epoll loop, because libslirp has a new list of sockets
 * in each turn.
 */
#pragma once

#include "base/clock.h"
#include "gateway/bucket.h"
#include "gateway/config.h"
#include "gateway/control.h"
#include "gateway/denials.h"
#include "gateway/dns_tcp.h"
#include "gateway/flow.h"
#include "gateway/link.h"
#include "gateway/resolved.h"
#include "gateway/resolver.h"
#include "gateway/route.h"
#include "gateway/stack.h"

/* the most frames that are read from the link in one turn, so that other work is not delayed */
#define GATEWAY_BATCH 64u
#define GATEWAY_RESETS_MAX 256u /* the most resets that wait for the stack */
/* the most echo requests in a second; the stack keeps a socket for each request for a while */
#define GATEWAY_ECHO_PER_S 50u
/* The stack may have this many sockets more than --max-connections allows: for UDP, for echo
 * requests, and for connections that are being closed. */
#define GATEWAY_SPARE_SOCKETS 1024u

struct counters {
	uint64_t tx_bytes, tx_packets; /* sent by the guest */
	uint64_t rx_bytes, rx_packets; /* sent to the guest */
	uint64_t connections, denied, queries, queries_denied;
	uint64_t fault[FAULT_COUNT]; /* frames that did not parse */
	uint64_t spoofed;            /* frames with a wrong MAC or source address */
	uint64_t dropped;            /* other frames that were not passed on */
};

struct gateway {
	struct policy policy;
	struct lease lease;
	struct addr_host host;
	struct link link;
	struct route route;
	struct stack *stack;
	struct resolver *resolver;
	struct dns_tcp *dns_tcp;
	struct resolved *resolved;
	struct flow_table flows;
	struct denials denials;
	struct counters counters;
	struct bucket egress_bytes, egress_ops, ingress_bytes, ingress_ops, echo;
	struct control control;
	const struct gateway_config *config; /* borrowed; its ports and host addresses are read */
	bool holds_wait; /* at least one hold (hold.h) has bytes that the stack may take now */
	bool can_ping;
	bool has_v6_route;
	uint64_t v6_checked_ns;
	uint64_t now_ns; /* the time when this turn began */
	uint64_t expire_ns;
	/* TCP resets that end connections in the stack. They wait here until firewall_flush(),
	 * because the stack must not be called from inside its own callback. */
	struct {
		uint8_t frame[80];
		uint8_t n;
	} reset[GATEWAY_RESETS_MAX];
	unsigned n_resets;
	struct pollset set;
	bool quit;
};

/* Binds ports, reads the host's list of resolvers and opens the sockets that ask for routes. Must
 * run before confine(). */
MUST_USE int gateway_start(struct gateway *g, struct gateway_config *config, int link_fd,
			   struct err *e);
/* Serves until the supervisor sends `quit`, or until the supervisor or the link is gone. */
MUST_USE int gateway_serve(struct gateway *g, struct err *e);
void gateway_stop(struct gateway *g);

/* Applies the policy P to new connections. Takes over the contents of P. */
void gateway_set_policy(struct gateway *g, struct policy *p);
/* Returns true if this host has a route to the IPv6 internet. Asks the kernel every few seconds. */
bool gateway_has_v6_route(struct gateway *g);
