/*
 * Sequence numbers: `una` is the number of the first byte that is not acknowledged, and `nxt` is
 * the number of the next byte to send. `tx` holds the data from `una` on. Our SYN takes one number
 * before the data, and our FIN takes one number after the data.
 *
 *   guest's SYN      -> OPENING; we send SYN+ACK
 *   guest's ACK      -> OPEN; data is collected in order, and whole messages become questions one
 *                    by one
 *   guest's FIN      -> `ended`; when nothing is left to answer or send, we send FIN -> CLOSING
 *   ACK of our FIN   -> free
 *   in any state     -> free at once after RST, silence, too many resends, too much data or a
 *                    message with a bad length
 */
#include "gateway/dns_tcp.h"

#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define MSS_V4 1460u
#define MSS_V6 1440u
#define OUR_WINDOW DNS_TCP_QUERY_MAX_BYTES

enum conn_state { CONN_FREE, CONN_OPENING, CONN_OPEN, CONN_CLOSING };

struct conn {
	enum conn_state state;
	uint32_t generation;
	struct addr server;
	uint16_t guest_port;
	uint32_t una, nxt, rcv;
	uint32_t window; /* the guest's window */
	bool asking, ended;
	unsigned resends;
	uint64_t idle_ns, resend_ns; /* deadlines; resend_ns is 0 if everything is acknowledged */
	struct buf rx, tx;
};

struct dns_tcp {
	struct lease lease;
	struct dns_tcp_ops ops;
	struct conn conn[DNS_TCP_CONNS_MAX];
	uint32_t generation;
};

struct dns_tcp *dns_tcp_new(const struct lease *lease, const struct dns_tcp_ops *ops)
{
	struct dns_tcp *d = xcalloc(1, sizeof(*d));

	d->lease = *lease;
	d->ops = *ops;
	return d;
}

static void conn_free(struct conn *c)
{
	buf_done(&c->rx);
	buf_done(&c->tx);
	c->state = CONN_FREE;
}

void dns_tcp_free(struct dns_tcp *d)
{
	if (!d)
		return;
	for (unsigned i = 0; i < DNS_TCP_CONNS_MAX; i++)
		conn_free(&d->conn[i]);
	free(d);
}

static void send_segment(struct dns_tcp *d, const struct conn *c, uint32_t seq, unsigned flags,
			 const char *data, size_t n)
{
	bool v4 = c->server.family == ADDR_V4;
	struct packet_ends ends = { .src_mac = d->lease.gateway_mac,
				    .dst_mac = d->lease.guest_mac,
				    .src = c->server,
				    .dst = v4 ? d->lease.guest_v4 : d->lease.guest_v6,
				    .src_port = 53,
				    .dst_port = c->guest_port };
	struct tcp_fields tcp = {
		.seq = seq, .ack = c->rcv, .flags = (uint8_t)flags, .window = OUR_WINDOW
	};
	uint8_t frame[ETH_BYTES + 40 + 24 + MSS_V4];

	if (flags & TCP_SYN)
		tcp.mss = v4 ? MSS_V4 : MSS_V6;
	d->ops.send(d->ops.arg, frame, packet_make_tcp(frame, &ends, &tcp, data, n));
}

static void conn_reset(struct dns_tcp *d, struct conn *c)
{
	send_segment(d, c, c->nxt, TCP_RST | TCP_ACK, NULL, 0);
	conn_free(c);
}

/* Sends as much as the window allows, and the FIN after the last answer. */
static void conn_push(struct dns_tcp *d, struct conn *c, uint64_t now_ns)
{
	size_t mss = c->server.family == ADDR_V4 ? MSS_V4 : MSS_V6;
	size_t out = c->nxt - c->una;

	if (c->state != CONN_OPEN)
		return;
	while (out < c->tx.n && out < c->window) {
		size_t n = c->tx.n - out;

		n = n < mss ? n : mss;
		n = n < c->window - out ? n : c->window - out;
		send_segment(d, c, c->nxt, TCP_ACK | TCP_PSH, c->tx.p + out, n);
		c->nxt += (uint32_t)n;
		out += n;
	}
	if (c->ended && !c->asking && c->tx.n == 0) {
		send_segment(d, c, c->nxt, TCP_ACK | TCP_FIN, NULL, 0);
		c->nxt++;
		c->state = CONN_CLOSING;
	}
	/* the timer resends bytes that are not acknowledged; while the guest's window is closed,
	 * the timer sends one byte to ask whether the window has opened */
	c->resend_ns = c->nxt != c->una || c->tx.n ? now_ns + DNS_TCP_RESEND_NS : 0;
}

/* Turns the next whole message into a question. There is only one question at a time, so that
 * the answers stay in order. */
static void conn_read(struct dns_tcp *d, struct conn *c)
{
	size_t n;

	if (c->asking || c->rx.n < 2)
		return;
	n = (size_t)(uint8_t)c->rx.p[0] << 8 | (uint8_t)c->rx.p[1];
	if (n < DNS_HEADER_BYTES || n + 2 > DNS_TCP_QUERY_MAX_BYTES) {
		conn_reset(d, c);
		return;
	}
	if (c->rx.n < n + 2)
		return;
	uint8_t msg[DNS_TCP_QUERY_MAX_BYTES];

	memcpy(msg, c->rx.p + 2, n);
	buf_drop(&c->rx, n + 2);
	c->asking = true;
	d->ops.query(d->ops.arg, &c->server, (unsigned)(c - d->conn), c->generation, msg, n);
}

static struct conn *conn_find(struct dns_tcp *d, const struct packet *p)
{
	for (unsigned i = 0; i < DNS_TCP_CONNS_MAX; i++) {
		struct conn *c = &d->conn[i];

		if (c->state != CONN_FREE && c->guest_port == p->src_port &&
		    addr_eq(&c->server, &p->dst))
			return c;
	}
	return NULL;
}

static void conn_open(struct dns_tcp *d, const struct packet *p, uint64_t now_ns)
{
	struct conn *c = d->conn;

	while (c < d->conn + DNS_TCP_CONNS_MAX && c->state != CONN_FREE)
		c++;
	if (c == d->conn + DNS_TCP_CONNS_MAX) {
		uint8_t frame[REPLY_MAX_BYTES];
		size_t n = packet_make_reset(frame, p, d->lease.gateway_mac);

		d->ops.send(d->ops.arg, frame, n);
		return;
	}
	*c = (struct conn){ .state = CONN_OPENING,
			    .generation = ++d->generation,
			    .server = p->dst,
			    .guest_port = p->src_port,
			    .rcv = p->seq + 1,
			    .window = p->window,
			    .idle_ns = now_ns + DNS_TCP_IDLE_NS,
			    .resend_ns = now_ns + DNS_TCP_RESEND_NS };
	buf_init(&c->rx, DNS_TCP_QUERY_MAX_BYTES);
	buf_init(&c->tx, 2 + DNS_MESSAGE_MAX);
	if (getrandom(&c->una, sizeof(c->una), 0) < 0)
		/* a number that can be guessed is good enough, because only the guest itself could
		 * abuse it */
		c->una = (uint32_t)now_ns;
	c->nxt = c->una + 1;
	send_segment(d, c, c->una, TCP_SYN | TCP_ACK, NULL, 0);
}

/* Takes the acknowledgement and the window of P. Returns false if the connection ended. */
static bool take_ack(struct conn *c, const struct packet *p, uint64_t now_ns)
{
	uint32_t acked = p->ack - c->una;

	if (acked > c->nxt - c->una)
		return true; /* the acknowledgement is old, or is for bytes that we never sent */
	c->window = p->window;
	if (acked == 0)
		return true;
	c->resends = 0;
	if (c->state == CONN_CLOSING && p->ack == c->nxt)
		return false;
	if (c->state == CONN_OPENING) {
		c->state = CONN_OPEN;
		acked--; /* our SYN took one number */
		c->una++;
	}
	if (c->tx.n > 0)
		buf_drop(&c->tx, acked < c->tx.n ? acked : c->tx.n);
	c->una += acked;
	return true;
}

/* Takes the data and the FIN of P. Returns false if the connection ended. */
static bool take_data(struct dns_tcp *d, struct conn *c, const struct packet *p)
{
	if (p->seq != c->rcv || c->state != CONN_OPEN)
		/* bytes were repeated or are missing, or the connection is not open; our ACK says
		 * which byte we expect */
		return true;
	buf_add(&c->rx, p->frame + p->data, p->data_n);
	if (buf_failed(&c->rx)) {
		conn_reset(d, c);
		return false;
	}
	c->rcv += (uint32_t)p->data_n;
	if (p->flags & TCP_FIN) {
		c->rcv++;
		c->ended = true;
	}
	conn_read(d, c);
	return c->state != CONN_FREE;
}

void dns_tcp_input(struct dns_tcp *d, const struct packet *p, uint64_t now_ns)
{
	struct conn *c = conn_find(d, p);

	if (!c) {
		uint8_t frame[REPLY_MAX_BYTES];
		size_t n;

		if ((p->flags & (TCP_SYN | TCP_ACK | TCP_RST | TCP_FIN)) == TCP_SYN)
			conn_open(d, p, now_ns);
		else if ((n = packet_make_reset(frame, p, d->lease.gateway_mac)) > 0)
			d->ops.send(d->ops.arg, frame, n);
		return;
	}
	if (p->flags & TCP_RST) {
		conn_free(c);
		return;
	}
	if (p->flags & TCP_SYN) {
		if (p->seq + 1 == c->rcv && c->state == CONN_OPENING)
			send_segment(d, c, c->una, TCP_SYN | TCP_ACK, NULL, 0);
		return;
	}
	if (!(p->flags & TCP_ACK))
		return;
	c->idle_ns = now_ns + DNS_TCP_IDLE_NS;
	if (!take_ack(c, p, now_ns)) {
		conn_free(c);
		return;
	}
	if (p->data_n > 0 || p->flags & TCP_FIN) {
		if (!take_data(d, c, p))
			return;
		send_segment(d, c, c->nxt, TCP_ACK, NULL, 0);
	}
	conn_push(d, c, now_ns);
}

void dns_tcp_answer(struct dns_tcp *d, unsigned conn, uint32_t generation, const uint8_t *p,
		    size_t n, uint64_t now_ns)
{
	struct conn *c = &d->conn[conn];

	if (c->state == CONN_FREE || c->generation != generation)
		return;
	c->asking = false;
	buf_add_char(&c->tx, (char)(n >> 8));
	buf_add_char(&c->tx, (char)n);
	buf_add(&c->tx, p, n);
	if (buf_failed(&c->tx)) {
		conn_reset(d, c); /* the guest sends questions but does not read the answers */
		return;
	}
	conn_read(d, c);
	if (c->state != CONN_FREE && c->generation == generation)
		conn_push(d, c, now_ns);
}

void dns_tcp_fill(struct dns_tcp *d, struct pollset *set)
{
	for (unsigned i = 0; i < DNS_TCP_CONNS_MAX; i++) {
		struct conn *c = &d->conn[i];

		if (c->state == CONN_FREE)
			continue;
		pollset_wake_at(set, c->idle_ns);
		if (c->resend_ns)
			pollset_wake_at(set, c->resend_ns);
	}
}

static void conn_resend(struct dns_tcp *d, struct conn *c, uint64_t now_ns)
{
	if (++c->resends > DNS_TCP_RESENDS_MAX) {
		conn_reset(d, c);
		return;
	}
	c->resend_ns = now_ns + (DNS_TCP_RESEND_NS << c->resends);
	if (c->state == CONN_OPENING) {
		send_segment(d, c, c->una, TCP_SYN | TCP_ACK, NULL, 0);
	} else if (c->state == CONN_CLOSING) {
		send_segment(d, c, c->nxt - 1, TCP_ACK | TCP_FIN, NULL, 0);
	} else {
		size_t n = c->tx.n < MSS_V6 ? c->tx.n : MSS_V6;

		if (c->window < n)
			n = c->window ? c->window
				      : 1; /* one byte asks whether the window has opened */
		send_segment(d, c, c->una, TCP_ACK | TCP_PSH, c->tx.p, n);
		if (c->nxt == c->una)
			c->nxt += (uint32_t)n;
	}
}

void dns_tcp_due(struct dns_tcp *d, uint64_t now_ns)
{
	for (unsigned i = 0; i < DNS_TCP_CONNS_MAX; i++) {
		struct conn *c = &d->conn[i];

		if (c->state == CONN_FREE)
			continue;
		if (now_ns >= c->idle_ns && !c->asking)
			conn_reset(d, c);
		else if (c->resend_ns && now_ns >= c->resend_ns)
			conn_resend(d, c, now_ns);
	}
}
