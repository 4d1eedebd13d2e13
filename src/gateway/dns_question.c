#include "gateway/dns_question.h"

#include <errno.h>
#include <string.h>

#include "gateway/firewall.h"

#define DNS_TYPE_AXFR 252u
#define DNS_TYPE_IXFR 251u

static void reply(struct gateway *g, const struct dns_query *q, const struct dns_origin *o,
		  uint8_t *msg, size_t n)
{
	uint8_t frame[ETH_BYTES + 48 + DNS_UDP_EDNS_BYTES], cut[DNS_QUERY_MAX_BYTES];
	const struct flow_key key = { PACKET_UDP, o->server, DNS_PORT, o->guest_port };
	struct packet_ends ends = firewall_ends(g, &key, false);
	size_t most = q->udp_bytes < DNS_UDP_EDNS_BYTES ? q->udp_bytes : DNS_UDP_EDNS_BYTES;

	if (o->tcp) {
		dns_tcp_answer(g->dns_tcp, o->conn, o->generation, msg, n, g->now_ns);
		return;
	}
	if (n > most) {
		n = dns_reply_encode(q, DNS_NOERROR, true, cut);
		msg = cut;
	}
	firewall_send(g, frame, packet_make_udp(frame, &ends, msg, n));
}

static void reply_code(struct gateway *g, const struct dns_query *q, const struct dns_origin *o,
		       enum dns_rcode rcode)
{
	uint8_t msg[DNS_QUERY_MAX_BYTES];

	reply(g, q, o, msg, dns_reply_encode(q, rcode, false, msg));
}

/* Some classes and types of questions are never forwarded. If Q is such a question, answers Q and
 * returns true. */
static bool answered_without_asking(struct gateway *g, const struct dns_query *q,
				    const struct dns_origin *o)
{
	if (q->class != DNS_CLASS_IN || q->type == DNS_TYPE_AXFR || q->type == DNS_TYPE_IXFR ||
	    q->type == DNS_OPT) {
		reply_code(g, q, o, DNS_REFUSED);
		return true;
	}
	/* give an empty answer to questions for service records. Such records carry addresses that
	 * our table (resolved.h) would not get, and keys with which clients hide the host name from
	 * us. A client that gets no such record asks for A and AAAA. The answer to AAAA is empty,
	 * too, if the host could not reach an IPv6 address */
	if (q->type == DNS_SVCB || q->type == DNS_HTTPS ||
	    (q->type == DNS_AAAA && !gateway_has_v6_route(g))) {
		reply_code(g, q, o, DNS_NOERROR);
		return true;
	}
	return false;
}

static void question(struct gateway *g, const struct dns_origin *o, const uint8_t *p, size_t n)
{
	enum policy_proto proto = o->tcp ? PROTO_TCP : PROTO_UDP;
	char text[DENIAL_TEXT_BYTES];
	struct dns_query q = { 0 };
	struct verdict v;
	int r = dns_query_decode(p, n, &q);

	g->counters.queries++;
	if (r == -EBADMSG && !o->tcp)
		return;
	if (r < 0) {
		reply_code(g, &q, o, r == -EOPNOTSUPP ? DNS_NOTIMP : DNS_FORMERR);
		return;
	}
	v = policy_decide_query(&g->policy, proto, q.name);
	if (v.action == POLICY_DENY) {
		g->counters.queries_denied++;
		if (denials_add_query(&g->denials, &g->policy, q.name, v, text))
			control_send_denied(&g->control, text);
		reply_code(g, &q, o, DNS_NXDOMAIN);
		return;
	}
	if (!answered_without_asking(g, &q, o))
		resolver_ask(g->resolver, &q, o, g->now_ns);
}

void dns_question_by_udp(struct gateway *g, const struct packet *p)
{
	struct dns_origin o = { .server = p->dst, .guest_port = p->src_port };

	question(g, &o, p->frame + p->data, p->data_n);
}

void dns_question_by_tcp(void *gateway, const struct addr *server, unsigned conn,
			 uint32_t generation, const uint8_t *p, size_t n)
{
	struct dns_origin o = {
		.tcp = true, .server = *server, .conn = conn, .generation = generation
	};

	question(gateway, &o, p, n);
}

static bool record_address(const struct dns_record *rec, const uint8_t *msg, struct addr *ret)
{
	if (rec->class != DNS_CLASS_IN || (rec->type != DNS_A && rec->type != DNS_AAAA))
		return false;
	*ret = rec->type == DNS_A ? addr_v4(msg + rec->data_at) : addr_v6(msg + rec->data_at);
	return true;
}

/* Returns false if the answer has an address that the guest must not get. */
static bool answer_is_allowed(struct gateway *g, const struct dns_query *q, const uint8_t *msg,
			      size_t n)
{
	char text[DENIAL_TEXT_BYTES];
	struct dns_record rec;
	struct dns_walk w;
	struct addr a;

	dns_walk_start(&w, msg, n);
	while (dns_walk_next(&w, &rec))
		if (record_address(&rec, msg, &a) &&
		    !policy_allows_answer(&g->policy, &g->host, &a)) {
			if (denials_add_answer(&g->denials, q->name, &a, text))
				control_send_denied(&g->control, text);
			return false;
		}
	return true;
}

static void remember(struct gateway *g, const struct dns_query *q, const uint8_t *msg, size_t n)
{
	struct dns_record rec;
	struct dns_walk w;
	struct addr a;

	dns_walk_start(&w, msg, n);
	while (dns_walk_next(&w, &rec))
		if (rec.section == DNS_SECTION_ANSWER && record_address(&rec, msg, &a))
			resolved_remember(g->resolved, q->name, &a, rec.ttl, g->now_ns);
}

void dns_question_answered(void *gateway, const struct dns_query *q, const struct dns_origin *o,
			   uint8_t *msg, size_t n)
{
	struct gateway *g = gateway;

	if (!msg) {
		reply_code(g, q, o, DNS_SERVFAIL);
		return;
	}
	if (!answer_is_allowed(g, q, msg, n)) {
		g->counters.queries_denied++;
		reply_code(g, q, o, DNS_NXDOMAIN);
		return;
	}
	remember(g, q, msg, n);
	dns_answer_address_to(msg, q);
	reply(g, q, o, msg, n);
}
