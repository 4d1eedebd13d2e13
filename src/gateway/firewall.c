/*
 * The way of a frame:
 *
 * From the guest:   parse -> check that the source is the guest -> answer ARP, neighbour messages
 *                   and port 53 here -> find the flow, or begin one that policy allows -> pass the
 *                   bytes through a hold (hold.h) if a name in them may change the verdict -> the
 *                   stack
 * From the stack:   parse -> find the flow, or begin one to a published port -> the link
 *
 * All other frames are dropped. If the guest may not begin a flow, it also gets a RST or an ICMP
 * "unreachable". If a TCP connection from the stack is refused, the stack also gets a RST. Only
 * this file and held_flow.c give frames to the stack.
 *
 * When both sides of a connection have finished, the firewall sends the stack a reset in the
 * guest's name. Otherwise the stack would keep the socket and its state for ten seconds of
 * TIME_WAIT, and a guest that makes a thousand short connections a second would reach the limit of
 * sockets.
 */
#include "gateway/firewall.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "gateway/dns_question.h"
#include "gateway/held_flow.h"
#include "gateway/verdict.h"

#define TRAIN_MSS 32768u /* bytes of a segment on links with large segments; libslirp's limit */

/* Protocols that look for other machines, or that resolve names without asking the gateway. Every
 * policy refuses these protocols. */
static const struct {
	enum policy_proto proto;
	uint16_t port;
	const char *what;
} never[] = {
	{ PROTO_TCP, 853, "DNS over TLS" },   { PROTO_UDP, 853, "DNS over QUIC" },
	{ PROTO_UDP, 5353, "multicast DNS" }, { PROTO_UDP, 5355, "LLMNR" },
	{ PROTO_TCP, 5355, "LLMNR" },         { PROTO_UDP, 137, "NetBIOS names" },
};

/* Returns true if P goes to a service that libslirp itself runs on the gateway's address. */
static bool is_stack_service(const struct gateway *g, const struct packet *p)
{
	enum { BOOTP = 67, TFTP = 69, DHCP6 = 547 };

	return p->kind == PACKET_UDP && addr_group_of(&p->dst, &g->host) == GROUP_HOST &&
	       (p->dst_port == BOOTP || p->dst_port == TFTP || p->dst_port == DHCP6);
}

/* Sends the guest a frame. MSS has the same meaning as for link_write(). */
static void send_frame(struct gateway *g, uint8_t *frame, size_t n, unsigned mss)
{
	g->counters.rx_bytes += n;
	g->counters.rx_packets++;
	bucket_take(&g->ingress_bytes, n);
	bucket_take(&g->ingress_ops, 1);
	link_write(&g->link, frame, n, mss);
}

void firewall_send(struct gateway *g, uint8_t *frame, size_t n)
{
	if (n > 0)
		send_frame(g, frame, n, 0);
}

/* --- refusing --------------------------------------------------------------------------------- */

static void refuse(struct gateway *g, const struct packet *p)
{
	const struct addr *from =
		p->dst.family == ADDR_V4 ? &g->lease.gateway_v4 : &g->lease.gateway_v6;
	uint8_t frame[REPLY_MAX_BYTES];
	size_t n = p->kind == PACKET_TCP ? packet_make_reset(frame, p, g->lease.gateway_mac)
					 : packet_make_unreachable(frame, p, UNREACHABLE_PROHIBITED,
								   from, g->lease.gateway_mac);

	firewall_send(g, frame, n);
}

static void refuse_for(struct gateway *g, const struct packet *p, const char *what, const char *why)
{
	char text[DENIAL_TEXT_BYTES];

	g->counters.denied++;
	if (denials_add_other(&g->denials, what, why, text))
		control_send_denied(&g->control, text);
	refuse(g, p);
}

struct packet_ends firewall_ends(const struct gateway *g, const struct flow_key *k, bool to_stack)
{
	bool v4 = k->peer.family == ADDR_V4;
	const struct addr *guest = v4 ? &g->lease.guest_v4 : &g->lease.guest_v6;

	if (to_stack)
		return (struct packet_ends){ .src_mac = g->lease.guest_mac,
					     .dst_mac = g->lease.gateway_mac,
					     .src = *guest,
					     .dst = k->peer,
					     .src_port = k->guest_port,
					     .dst_port = k->peer_port };
	return (struct packet_ends){ .src_mac = g->lease.gateway_mac,
				     .dst_mac = g->lease.guest_mac,
				     .src = k->peer,
				     .dst = *guest,
				     .src_port = k->peer_port,
				     .dst_port = k->guest_port };
}

/* Ends a connection inside the stack, as if the guest had reset it. */
static void reset_stack(struct gateway *g, const struct flow_key *k, uint32_t seq, uint32_t ack)
{
	struct packet_ends ends = firewall_ends(g, k, true);
	struct tcp_fields tcp = { .seq = seq, .ack = ack, .flags = TCP_RST | TCP_ACK };

	if (g->n_resets == GATEWAY_RESETS_MAX)
		return; /* no room is left; the stack's own timers will end the connection */
	g->reset[g->n_resets].n =
		(uint8_t)packet_make_tcp(g->reset[g->n_resets].frame, &ends, &tcp, NULL, 0);
	g->n_resets++;
}

/* --- what the guest may begin ----------------------------------------------------------------- */

static enum policy_proto proto_of(const struct packet *p)
{
	switch (p->kind) {
	case PACKET_TCP:
		return PROTO_TCP;
	case PACKET_UDP:
		return PROTO_UDP;
	case PACKET_ICMP4:
		return PROTO_ICMPV4;
	default:
		return PROTO_ICMPV6;
	}
}

/* Returns true if packets to A are refused under every policy: loopback, multicast, reserved
 * addresses and the link's own network, but not the gateway's own addresses. */
static bool goes_nowhere(const struct gateway *g, const struct addr *a)
{
	enum addr_group group = addr_group_of(a, &g->host);

	if (group == GROUP_HOST)
		return false;
	if (group == GROUP_NONE || group == GROUP_LOOPBACK || group == GROUP_MULTICAST)
		return true;
	if (a->family == ADDR_V4)
		return a->b[0] == 0 || a->b[0] >= 240 ||
		       (memcmp(a->b, g->lease.gateway_v4.b, 3) == 0 &&
			(a->b[3] ^ g->lease.gateway_v4.b[3]) < 4);
	return memcmp(a->b, g->lease.gateway_v6.b, 8) == 0;
}

/* Returns true if the guest may begin this flow. Otherwise refuses P and returns false. *RET_MINDS
 * says whether names in the flow's bytes may change the verdict. */
static bool may_begin(struct gateway *g, const struct packet *p, bool *ret_minds)
{
	struct policy_flow f = { .direction = POLICY_EGRESS,
				 .proto = proto_of(p),
				 .peer = p->dst,
				 .port = p->dst_port };
	enum route_kind route;
	struct verdict v;

	for (unsigned i = 0; i < ARRAY_SIZE(never); i++)
		if (never[i].proto == f.proto && never[i].port == f.port) {
			refuse_for(g, p, never[i].what, "names are resolved by the gateway only");
			return false;
		}
	route = verdict_route(g, &f);
	if (goes_nowhere(g, &p->dst) || is_stack_service(g, p) || route == ROUTE_MANY ||
	    route == ROUTE_UNKNOWN) {
		g->counters.dropped++;
		refuse(g, p);
		return false;
	}
	v = verdict_on_flow(g, &f, route);
	if (v.action == POLICY_DENY) {
		refuse(g, p);
		return false;
	}
	/* in strict mode, a flow that a rule about a name allows must show the name. We cannot
	 * demand this of UDP and ICMP, because most of their packets hold no name. So refuse the
	 * flow */
	if (g->policy.strict && f.proto != PROTO_TCP && verdict_is_by_name(g, v)) {
		refuse_for(g, p, VERDICT_BY_NAME, VERDICT_NO_NAME);
		return false;
	}
	if (stack_sockets(g->stack) >= g->policy.max_connections + GATEWAY_SPARE_SOCKETS) {
		refuse_for(g, p, "connection", "too many open sockets");
		return false;
	}
	*ret_minds = policy_minds_names(&g->policy, &f, v);
	return true;
}

static struct flow *add_flow(struct gateway *g, const struct flow_key *key)
{
	struct flow *f = flow_add(&g->flows, key, g->now_ns);

	g->counters.connections += f != NULL;
	return f;
}

/* Begins a flow of the guest, or refuses P. *RET_MINDS has the same meaning as for may_begin(). */
static struct flow *begin_flow(struct gateway *g, const struct packet *p,
			       const struct flow_key *key, bool *ret_minds)
{
	struct flow *f = NULL;

	if (may_begin(g, p, ret_minds)) {
		f = add_flow(g, key);
		if (!f)
			refuse_for(g, p, "connection",
				   "the limit is reached; raise it with --max-connections");
	}
	return f;
}

/* --- TCP from the guest ----------------------------------------------------------------------- */

static struct flow *begin_tcp(struct gateway *g, struct packet *p, const struct flow_key *key)
{
	struct flow *f;
	bool minds;

	if ((p->flags & (TCP_SYN | TCP_ACK | TCP_RST | TCP_FIN)) != TCP_SYN) {
		refuse(g, p);
		return NULL;
	}
	f = begin_flow(g, p, key, &minds);
	if (!f)
		return NULL;
	f->start = p->seq;
	if (minds)
		f->hold = hold_new(p->seq + 1, g->policy.strict);
	return f;
}

void firewall_end_flow(struct gateway *g, struct flow *f, uint32_t seq, uint32_t ack)
{
	struct tcp_fields tcp = { .seq = seq, .ack = ack };

	if (f->hold)
		hold_fill_tcp(f->hold, true, &tcp);
	reset_stack(g, &f->key, tcp.seq, tcp.ack);
	flow_remove(&g->flows, f);
}

void firewall_flush(struct gateway *g)
{
	for (unsigned i = 0; i < g->n_resets; i++)
		stack_input(g->stack, g->reset[i].frame, g->reset[i].n);
	g->n_resets = 0;
	if (g->holds_wait)
		held_flows_go_on(g);
}

static void tcp_from_guest(struct gateway *g, struct packet *p)
{
	struct flow_key key = { PACKET_TCP, p->dst, p->dst_port, p->src_port };
	struct flow *f;

	packet_clear_urgent(p);
	if (p->flags & TCP_SYN && (p->flags & (TCP_FIN | TCP_RST) || p->data_n > 0)) {
		g->counters.dropped++;
		return;
	}
	if (p->dst_port == DNS_PORT) {
		dns_tcp_input(g->dns_tcp, p, g->now_ns);
		return;
	}
	f = flow_find(&g->flows, &key);
	if (!f) {
		f = begin_tcp(g, p, &key);
		if (!f)
			return;
	} else if ((p->flags & (TCP_SYN | TCP_ACK)) == TCP_SYN && (f->open || p->seq != f->start)) {
		/* the guest has forgotten this connection and begins a new one. Refuse this SYN and
		 * end the old connection. The guest will send another SYN, which we judge */
		refuse(g, p);
		firewall_end_flow(g, f, p->seq, p->ack);
		return;
	}
	f->last_ns = g->now_ns;
	if (p->flags & TCP_SYN)
		f->mss = packet_take_mss(p, g->link.vnet ? TRAIN_MSS : 0);
	if (p->flags & TCP_SYN && !f->open) {
		stack_input(g->stack, p->frame, p->n);
		f = flow_find(&g->flows, &key); /* the stack may have ended the flow at once */
		if (f && f->dial < 0)
			f->dial = stack_dialled(g->stack);
		return;
	}
	if (f->hold) {
		held_flow_from_guest(g, f, p);
		return;
	}
	if (flow_track(f, p, true))
		firewall_end_flow(g, f, p->seq + packet_seq_len(p), p->ack);
	stack_input(g->stack, p->frame, p->n); /* f may be freed by now */
}

/* --- connections that the host cannot make ---------------------------------------------------- */

/* Tells the guest that its peer refused the connection (RST) or cannot be reached (ICMP). After a
 * time-out the guest gets no answer, because its own time-out has passed, too. */
static void tell_failure(struct gateway *g, const struct flow *f, int error)
{
	const struct addr *from =
		f->key.peer.family == ADDR_V4 ? &g->lease.gateway_v4 : &g->lease.gateway_v6;
	struct packet_ends ends = firewall_ends(g, &f->key, true);
	struct tcp_fields tcp = { .seq = f->start, .flags = TCP_SYN };
	uint8_t syn[REPLY_MAX_BYTES], answer[REPLY_MAX_BYTES];
	struct packet p;

	/* RST and ICMP both refer to the SYN of the guest. The SYN was not kept, so make it
	 * again */
	if (error == ETIMEDOUT ||
	    packet_parse(syn, packet_make_tcp(syn, &ends, &tcp, NULL, 0), &p) != FAULT_NONE)
		return;
	if (error == ECONNREFUSED || error == ECONNRESET)
		firewall_send(g, answer, packet_make_reset(answer, &p, g->lease.gateway_mac));
	else
		firewall_send(g, answer,
			      packet_make_unreachable(answer, &p, UNREACHABLE_HOST, from,
						      g->lease.gateway_mac));
}

static struct flow *flow_of_dial(struct gateway *g, int fd)
{
	for (unsigned i = 0; i < FLOW_BUCKETS; i++)
		for (struct flow *f = g->flows.bucket[i]; f; f = f->next)
			if (f->dial == fd && !f->open && f->key.kind == PACKET_TCP && !f->ingress)
				return f;
	return NULL;
}

/*
 * If a connect() fails late, libslirp sends the guest a FIN. The guest ignores this FIN and waits
 * for minutes. So we look for such failures before libslirp does, tell the guest, and end the flow.
 */
void firewall_failed_dials(struct gateway *g)
{
	for (size_t i = 0; i < g->set.n; i++) {
		const struct pollfd *fd = &g->set.fd[i];
		struct flow *f = fd->revents & (POLLERR | POLLHUP) ? flow_of_dial(g, fd->fd) : NULL;
		socklen_t size = sizeof(int);
		int error = 0;

		if (!f || getsockopt(fd->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 || !error)
			continue;
		tell_failure(g, f, error);
		firewall_end_flow(g, f, f->start + 1, 0);
	}
}

/* --- when the host's addresses change --------------------------------------------------------- */

/*
 * Removes UDP conversations that are no longer allowed, so that their next datagram is judged
 * again. The address of a flow's peer may now be an address of the host. An open TCP connection to
 * such an address cannot reach the host, because the kernel resets the connection. But if connect()
 * is still under way, its next SYN could reach the host. So we shut the socket down, and then the
 * stack resets the guest's connection.
 */
void firewall_recheck(struct gateway *g)
{
	for (unsigned i = 0; i < FLOW_BUCKETS; i++)
		for (struct flow *f = g->flows.bucket[i], *next; f; f = next) {
			next = f->next;
			if (f->ingress || (f->key.kind == PACKET_TCP && f->open) ||
			    verdict_still_allows(g, f))
				continue;
			if (f->key.kind == PACKET_UDP)
				flow_remove(&g->flows, f);
			else if (f->dial >= 0)
				IGNORE(shutdown(f->dial,
						SHUT_RDWR)); /* fails if connect() has ended */
		}
}

/* --- the rest from the guest ------------------------------------------------------------------ */

static void udp_from_guest(struct gateway *g, struct packet *p)
{
	struct flow_key key = { PACKET_UDP, p->dst, p->dst_port, p->src_port };
	struct flow *f;
	struct hello h;
	bool minds;

	if (p->dst_port == DNS_PORT) {
		dns_question_by_udp(g, p);
		return;
	}
	f = flow_find(&g->flows, &key);
	if (!f) {
		f = begin_flow(g, p, &key, &minds);
		if (!f)
			return;
		f->minds_names = minds;
	}
	if (f->minds_names && !f->ingress) {
		hello_read_datagram(p->frame + p->data, p->data_n, &h);
		if (h.kind != HELLO_OPAQUE && !verdict_on_hello(g, &key, &h)) {
			refuse(g, p);
			return;
		}
	}
	f->last_ns = g->now_ns;
	stack_input(g->stack, p->frame, p->n);
}

static void icmp4_from_guest(struct gateway *g, struct packet *p)
{
	bool minds;

	if (p->icmp_type != ICMP4_ECHO || p->icmp_code != 0) {
		g->counters.dropped++;
		return;
	}
	if (!may_begin(g, p, &minds))
		return;
	/* if the host allows no ping sockets, libslirp would send a datagram to UDP port 7 instead,
	 * and the policy has not allowed this datagram */
	if (!g->can_ping && addr_group_of(&p->dst, &g->host) != GROUP_HOST) {
		refuse_for(g, p, "ping",
			   "this host allows no ping sockets (sysctl net.ipv4.ping_group_range)");
		return;
	}
	if (bucket_wait_ns(&g->echo, g->now_ns) > 0) {
		g->counters.dropped++;
		return;
	}
	bucket_take(&g->echo, 1);
	stack_input(g->stack, p->frame, p->n);
}

static void neighbour_from_guest(struct gateway *g, const struct packet *p)
{
	struct packet_ends ends = { .src_mac = g->lease.gateway_mac,
				    .dst_mac = g->lease.guest_mac,
				    .src = g->lease.gateway_v6,
				    .dst = g->lease.guest_v6 };
	uint8_t frame[REPLY_MAX_BYTES];

	if (p->data_n >= ADDR_V6_BYTES &&
	    memcmp(p->frame + p->data, g->lease.gateway_v6.b, ADDR_V6_BYTES) == 0)
		firewall_send(g, frame, packet_make_neighbour(frame, &ends));
	else
		g->counters.dropped++;
}

static void icmp6_from_guest(struct gateway *g, struct packet *p)
{
	bool minds;

	if (p->icmp_type == ICMP6_NEIGHBOUR_SOLICIT) {
		neighbour_from_guest(g, p);
		return;
	}
	if (p->icmp_type != ICMP6_ECHO || p->icmp_code != 0) {
		g->counters.dropped++;
		return;
	}
	if (!may_begin(g, p, &minds))
		return;
	if (addr_group_of(&p->dst, &g->host) != GROUP_HOST) {
		refuse_for(g, p, "ping", "echo over IPv6 beyond the gateway is not supported");
		return;
	}
	stack_input(g->stack, p->frame, p->n);
}

static void arp_from_guest(struct gateway *g, const struct packet *p)
{
	const uint8_t *h = p->frame + ETH_BYTES;
	uint8_t frame[ARP_FRAME_BYTES];

	if (h[6] == 0 && h[7] == 1 && memcmp(h + 8, g->lease.guest_mac, MAC_BYTES) == 0 &&
	    addr_eq(&p->src, &g->lease.guest_v4) && addr_eq(&p->dst, &g->lease.gateway_v4))
		firewall_send(g, frame,
			      packet_make_arp(frame, 2, g->lease.gateway_mac, &g->lease.gateway_v4,
					      g->lease.guest_mac, &g->lease.guest_v4));
	else
		g->counters.dropped++;
}

/* Returns false if the source of P is forged, or if P may not go to its destination MAC. The guest
 * has one MAC, and one address of each family. */
static bool is_from_guest(const struct gateway *g, const struct packet *p)
{
	const struct addr *own = p->src.family == ADDR_V4 ? &g->lease.guest_v4 : &g->lease.guest_v6;
	bool to_us = memcmp(p->frame, g->lease.gateway_mac, MAC_BYTES) == 0;
	/* only ARP and ICMPv6, which has the neighbour questions, may use broadcast and
	 * multicast */
	bool asks = p->frame[0] & 1 && (p->kind == PACKET_ARP || p->kind == PACKET_ICMP6);

	return memcmp(p->frame + MAC_BYTES, g->lease.guest_mac, MAC_BYTES) == 0 &&
	       addr_eq(&p->src, own) && (to_us || asks);
}

void firewall_from_guest(struct gateway *g, uint8_t *frame, size_t n)
{
	struct packet p;
	enum packet_fault fault = packet_parse(frame, n, &p);

	g->counters.tx_bytes += n;
	g->counters.tx_packets++;
	bucket_take(&g->egress_bytes, n);
	bucket_take(&g->egress_ops, 1);
	if (fault != FAULT_NONE) {
		g->counters.fault[fault]++;
		return;
	}
	if (!is_from_guest(g, &p)) {
		g->counters.spoofed++;
		return;
	}
	switch (p.kind) {
	case PACKET_ARP:
		arp_from_guest(g, &p);
		break;
	case PACKET_TCP:
		tcp_from_guest(g, &p);
		break;
	case PACKET_UDP:
		udp_from_guest(g, &p);
		break;
	case PACKET_ICMP4:
		icmp4_from_guest(g, &p);
		break;
	case PACKET_ICMP6:
		icmp6_from_guest(g, &p);
		break;
	}
}

/* --- from the stack --------------------------------------------------------------------------- */

/* Begins a flow for a connection from outside to a published port. Returns NULL if the policy
 * denies the connection, or if there are too many flows. */
static struct flow *begin_ingress(struct gateway *g, const struct packet *p,
				  const struct flow_key *key)
{
	struct policy_flow f = { .direction = POLICY_INGRESS,
				 .proto = proto_of(p),
				 .peer = p->src,
				 .port = p->dst_port };
	struct verdict v = verdict_on_flow(g, &f, ROUTE_OUT);
	struct flow *flow = v.action == POLICY_ALLOW ? add_flow(g, key) : NULL;

	if (flow)
		flow->ingress = true;
	return flow;
}

static bool tcp_from_stack(struct gateway *g, struct packet *p, unsigned *ret_mss)
{
	struct flow_key key = { PACKET_TCP, p->src, p->src_port, p->dst_port };
	struct flow *f = flow_find(&g->flows, &key);

	if (!f && (p->flags & (TCP_SYN | TCP_ACK | TCP_RST)) == TCP_SYN) {
		f = begin_ingress(g, p, &key);
		if (!f)
			/* the client on the other side sees a reset */
			reset_stack(g, &key, 0, p->seq + 1);
	}
	if (!f)
		return false;
	f->last_ns = g->now_ns;
	*ret_mss = f->mss;
	if (f->hold) {
		hold_hear_stack(f->hold, p);
		g->holds_wait |= hold_is_passing(f->hold);
		if (hold_is_over(f->hold)) {
			hold_free(f->hold);
			f->hold = NULL;
		}
	}
	if (flow_track(f, p, false)) {
		if (p->flags & TCP_RST)
			flow_remove(&g->flows, f);
		else
			firewall_end_flow(g, f, p->ack, p->seq + packet_seq_len(p));
	} else if (f->hold) {
		hold_mark_to_guest(f->hold, p);
	}
	return true;
}

static bool is_published(const struct gateway *g, uint16_t guest_port)
{
	for (size_t i = 0; i < g->config->n_ports; i++)
		if (g->config->port[i].udp && g->config->port[i].guest_port == guest_port)
			return true;
	return false;
}

static bool udp_from_stack(struct gateway *g, const struct packet *p)
{
	struct flow_key key = { PACKET_UDP, p->src, p->src_port, p->dst_port };
	struct flow *f = flow_find(&g->flows, &key);

	/* the stack's sockets accept datagrams from any sender. A datagram may pass if the guest
	 * has sent this peer something before, or if the port is published */
	if (!f && is_published(g, p->dst_port))
		f = begin_ingress(g, p, &key);
	if (!f)
		return false;
	f->last_ns = g->now_ns;
	f->open = true;
	return true;
}

/* Ends the connection that an ICMP "unreachable" quotes. The stack has already closed this
 * connection. */
static void end_quoted(struct gateway *g, const struct packet *p)
{
	struct flow_key key;
	struct flow *f;

	if (packet_quoted_flow(p, &key.kind, &key.peer, &key.guest_port, &key.peer_port) &&
	    key.kind == PACKET_TCP && (f = flow_find(&g->flows, &key)) != NULL && !f->open)
		flow_remove(&g->flows, f);
}

/* Returns true if the ICMP message P may go to the guest. Returns false for libslirp's router
 * advertisements and neighbour messages, which the guest does not need. */
static bool icmp_from_stack(struct gateway *g, const struct packet *p)
{
	end_quoted(g, p);
	if (p->kind == PACKET_ICMP4)
		return true;
	return p->icmp_type < ICMP6_ECHO || p->icmp_type == ICMP6_ECHO_REPLY;
}

void firewall_from_stack(struct gateway *g, uint8_t *frame, size_t n)
{
	const struct addr *own;
	struct packet p;
	unsigned mss = 0;
	bool pass = false;

	if (packet_parse(frame, n, &p) != FAULT_NONE || p.kind == PACKET_ARP)
		return;
	own = p.dst.family == ADDR_V4 ? &g->lease.guest_v4 : &g->lease.guest_v6;
	if (!addr_eq(&p.dst, own))
		return;
	if (p.kind == PACKET_TCP)
		pass = tcp_from_stack(g, &p, &mss);
	else if (p.kind == PACKET_UDP)
		pass = udp_from_stack(g, &p);
	else
		pass = icmp_from_stack(g, &p);
	if (!pass) {
		g->counters.dropped++;
		return;
	}
	memcpy(frame, g->lease.guest_mac, MAC_BYTES);
	memcpy(frame + MAC_BYTES, g->lease.gateway_mac, MAC_BYTES);
	send_frame(g, frame, p.n, mss);
}
