/*
 * The gateway of one sandbox: everything between its link and the host's sockets.
 *
 * Frames of the guest come in at the edge, which parses and judges them; what is allowed goes to the
 * stack (libslirp), questions on port 53 go to the resolver, the rest is refused. What the stack and
 * the resolver make goes out through the edge again. One thread, one poll(2): libslirp says anew each
 * turn what it waits for, so the project's epoll loop would only be rebuilt around it.
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

#define GATEWAY_BATCH 64u       /* frames read from the link per turn, so nothing else starves */
#define GATEWAY_RESETS_MAX 256u /* queued for the stack per turn */
#define GATEWAY_ECHO_PER_S 50u  /* each echo request holds a socket for a while */
#define GATEWAY_SPARE_SOCKETS 1024u /* of the stack beyond live connections: closing, UDP, echo */

struct counters {
	uint64_t tx_bytes, tx_packets; /* of the guest */
	uint64_t rx_bytes, rx_packets; /* to the guest */
	uint64_t connections, denied, queries, queries_denied;
	uint64_t fault[FAULT_COUNT]; /* frames that did not parse */
	uint64_t spoofed;            /* wrong MAC or source address */
	uint64_t dropped;            /* anything else that went nowhere */
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
	const struct gateway_config *config; /* borrowed; published ports, host_addresses */
	bool holds_wait;                     /* the stack may take more of what some gate holds */
	bool can_ping;
	bool has_v6_route;
	uint64_t v6_checked_ns;
	uint64_t now_ns; /* of this turn */
	uint64_t expire_ns;
	/* Resets that end a connection inside the stack; it must not be called from its own callback. */
	struct {
		uint8_t frame[80];
		uint8_t n;
	} reset[GATEWAY_RESETS_MAX];
	unsigned n_resets;
	struct pollset set;
	bool quit;
};

/* Binds ports, reads the host's resolvers and opens the way to ask for routes: before confinement. */
MUST_USE int gateway_start(struct gateway *g, struct gateway_config *config, int link_fd,
			   struct err *e);
/* Serves until told to quit or the supervisor or the link is gone. */
MUST_USE int gateway_serve(struct gateway *g, struct err *e);
void gateway_stop(struct gateway *g);

/* The other policy holds from now on, for new connections. Takes over P's contents. */
void gateway_set_policy(struct gateway *g, struct policy *p);
/* Is there a way to the IPv6 internet at all? Asked anew every few seconds. */
bool gateway_has_v6_route(struct gateway *g);
