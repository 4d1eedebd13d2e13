/* Tests the gateway's tables of flows, names, rates, holds and refusals. All tables are bounded.
 * The tests pass the time as an argument. */
#include "gateway/denials.h"
#include "gateway/flow.h"
#include "gateway/hold.h"
#include "gateway/resolved.h"
#include "gateway/bucket.h"
#include "t.h"

#include <stdlib.h>

#define SECOND 1000000000ull

static struct addr A(const char *s) {
	struct addr a = { 0 };

	T_INT(addr_parse(str_of(s), &a), 0);
	return a;
}

static struct flow_key
key(enum packet_kind kind, unsigned port)
{
	return (struct flow_key){ kind, A("1.2.3.4"), 80, (uint16_t)port };
}

static void flows_are_bounded_and_idle_flows_are_replaced(void)
{
	struct flow_table t;
	struct flow_key k;

	flow_table_init(&t, 3);
	k = key(PACKET_UDP, 1);
	T_TRUE(flow_add(&t, &k, 0) != NULL);
	k = key(PACKET_TCP, 1);
	T_TRUE(flow_add(&t, &k, 0) != NULL);
	k = key(PACKET_TCP, 2);
	T_TRUE(flow_add(&t, &k, 0) != NULL);
	k = key(PACKET_TCP, 3);
	T_TRUE(flow_add(&t, &k, SECOND) == NULL); /* the UDP flow is too new to be replaced */
	T_TRUE(flow_add(&t, &k, 6 * SECOND) != NULL);
	k = key(PACKET_UDP, 1);
	T_TRUE(flow_find(&t, &k) == NULL);
	T_INT(t.n, 3);
	flow_expire(&t, 79 * SECOND);
	T_INT(t.n, 3);
	/* the flows that began at time 0 expire, because they got no answer */
	flow_expire(&t, 81 * SECOND);
	T_INT(t.n, 1);
	flow_table_done(&t);
	T_INT(t.n, 0);
}

static struct packet segment(unsigned flags, uint32_t seq, uint32_t ack, size_t n)
{
	return (struct packet){
		.kind = PACKET_TCP, .flags = (uint8_t)flags, .seq = seq, .ack = ack, .data_n = n
	};
}

static void a_connection_ends_after_both_fins(void)
{
	struct flow f = { 0 };
	struct packet p;

	p = segment(TCP_SYN, 10, 0, 0);
	T_TRUE(!flow_track(&f, &p, true));
	p = segment(TCP_SYN | TCP_ACK, 90, 11, 0);
	T_TRUE(!flow_track(&f, &p, false));
	T_TRUE(f.open);
	p = segment(TCP_FIN | TCP_ACK, 91, 11, 5);
	T_TRUE(!flow_track(&f, &p, false));
	p = segment(TCP_ACK, 11, 96, 0);
	T_TRUE(!flow_track(&f, &p, true)); /* acknowledges the data, not the FIN */
	p = segment(TCP_FIN | TCP_ACK, 11, 97, 0);
	T_TRUE(!flow_track(&f, &p, true));
	p = segment(TCP_ACK, 97, 11, 0);
	T_TRUE(!flow_track(&f, &p, false));
	p = segment(TCP_ACK, 97, 12, 0);
	T_TRUE(flow_track(&f, &p, false));
	f = (struct flow){ 0 };
	p = segment(TCP_RST, 1, 0, 0);
	T_TRUE(flow_track(&f, &p, true));
}

static void names_are_remembered_and_forgotten(void)
{
	struct resolved *n = resolved_new();
	struct rule r = { .target = TARGET_SUFFIX, .name = "example.com" };
	struct addr a = A("1.2.3.4"), b = A("1.2.3.5");

	resolved_remember(n, "www.example.com", &a, 60, 0);
	T_TRUE(resolved_covers(n, &r, &a, SECOND));
	T_TRUE(!resolved_covers(n, &r, &b, SECOND));
	T_TRUE(resolved_covers(n, &r, &a, 1700 * SECOND)); /* each use keeps the name longer */
	T_TRUE(resolved_covers(n, &r, &a, 3400 * SECOND));
	T_TRUE(!resolved_covers(n, &r, &a, 5300 * SECOND));
	resolved_remember(n, "www.example.com", &b, 7200, 0);
	/* with a long TTL, a name stays without being used */
	T_TRUE(resolved_covers(n, &r, &b, 7100 * SECOND));
	T_STR(resolved_name_of(n, &b, 7100 * SECOND), "www.example.com");
	for (unsigned i = 0; i < 2 * RESOLVED_MAX; i++) {
		struct addr other = { ADDR_V4,
				      { 9, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i } };

		resolved_remember(n, "filler.example", &other, 60, 7200 * SECOND);
	}
	/* newer entries have replaced the entry with the address b */
	T_TRUE(!resolved_covers(n, &r, &b, 7200 * SECOND));
	resolved_free(n);
}

static void a_bucket_fills_and_owes(void)
{
	struct rate_limit limit = { .amount = 1000, .interval_ms = 1000, .burst = 100 };
	struct bucket b;

	bucket_init(&b, &limit, 0);
	T_INT(bucket_wait_ns(&b, 0), 0);
	bucket_take(&b, 100);
	T_TRUE(bucket_wait_ns(&b, 0) > 0);
	T_INT(bucket_wait_ns(&b, 10000000), 0);
	bucket_take(&b, 510); /* takes 500 tokens more than there are */
	T_TRUE(bucket_wait_ns(&b, 20000000) > 480000000);
	T_INT(bucket_wait_ns(&b, 600000000), 0);
	T_INT(bucket_wait_ns(&b, 3600 * SECOND), 0);
	T_INT(b.tokens, 100); /* never more than the burst */
	limit = (struct rate_limit){ 0 };
	bucket_init(&b, &limit, 0);
	bucket_take(&b, 1ull << 60);
	T_INT(bucket_wait_ns(&b, 1), 0);
}

static struct packet data(uint32_t seq, uint32_t ack, const char *text)
{
	struct packet p = segment(TCP_ACK, seq, ack, strlen(text));

	p.frame = (uint8_t *)text;
	p.window = 1000;
	return p;
}

/* Passes TEXT to the hold as bytes of the guest at SEQ. Returns the next step. */
static enum hold_step take(struct hold *g, uint32_t seq, const char *text, struct hello *h)
{
	struct packet p = data(seq, 701, text);

	hold_take(g, &p);
	return hold_next(g, h);
}

static struct hold *open_hold(uint32_t start, bool http, uint16_t window)
{
	struct packet answer = segment(TCP_SYN | TCP_ACK, 700, start, 0);
	struct hold *g = hold_new(start, http);

	answer.window = window;
	hold_hear_stack(g, &answer);
	return g;
}

static void a_hold_keeps_bytes_until_they_are_judged(void)
{
	struct hold *g = open_hold(0xfffffffe, true, 65535); /* sequence numbers wrap */
	const uint8_t *bytes;
	struct tcp_fields tcp;
	struct packet p;
	struct hello h;
	size_t n;

	T_INT(take(g, 5, "late", &h), HOLD_WAIT); /* bytes behind a gap are not taken */
	T_INT(hold_taken(g), 0xfffffffe);
	T_INT(take(g, 0xfffffffe, "GET / HTTP/1.1\r\n", &h), HOLD_WAIT);
	T_INT(hold_taken(g), 14);
	T_TRUE(hold_is_unfinished(g));
	/* other bytes at the same place are ignored */
	T_INT(take(g, 0xfffffffe, "PUT / HTTP/1.1\r\n", &h), HOLD_WAIT);
	hold_fill_tcp(g, false, &tcp);
	T_INT(tcp.ack, 14);
	T_INT(tcp.seq, 701);
	T_INT(tcp.window, HELLO_MAX_BYTES - 16);
	T_INT(take(g, 12, "xxHost: x\r\n\r\nmore", &h),
	      HOLD_JUDGE); /* where two pieces overlap, the first counts */
	T_INT(h.kind, HELLO_HTTP);
	T_STR(h.name, "x");
	hold_allow(g, &h);
	T_INT(hold_next(g, &h), HOLD_GIVE);
	bytes = hold_bytes(g, &n);
	T_INT(n, 27);
	T_TRUE(memcmp(bytes, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27) == 0);
	hold_gave(g, n);
	T_INT(hold_next(g, &h), HOLD_WAIT); /* waits for the rest of the next request */
	T_TRUE(hold_is_unfinished(g) && !hold_is_over(g));
	hold_fill_tcp(g, true, &tcp);
	T_INT(tcp.seq, 25);
	T_INT(tcp.ack, 701);
	p = segment(TCP_ACK, 701, 25, 0);
	p.window = 100;
	hold_hear_stack(g, &p);
	T_TRUE(!hold_is_over(g));
	hold_free(g);
}

static void a_hold_gives_what_the_stack_takes(void)
{
	struct hold *g = open_hold(100, false, 4);
	struct packet p;
	struct hello h;
	size_t n;

	T_INT(take(g, 100, "opaque", &h), HOLD_JUDGE);
	T_INT(h.kind, HELLO_OPAQUE);
	hold_allow(g, &h);
	T_INT(hold_next(g, &h), HOLD_GIVE);
	hold_bytes(g, &n);
	T_INT(n, 4);
	hold_gave(g, n);
	T_INT(hold_next(g, &h), HOLD_WAIT);
	T_TRUE(hold_is_passing(g) && !hold_can_give(g));
	p = segment(TCP_ACK, 701, 104, 0);
	p.window = 4;
	hold_hear_stack(g, &p);
	T_INT(hold_next(g, &h), HOLD_GIVE);
	hold_gave(g, 2);
	T_TRUE(!hold_is_over(g)); /* the last bytes are not acknowledged yet */
	p = segment(TCP_ACK, 701, 106, 0);
	hold_hear_stack(g, &p);
	T_TRUE(hold_is_over(g));
	hold_free(g);
}

static void a_hold_ignores_acknowledgements_of_unsent_bytes(void)
{
	struct hold *g = open_hold(100, false, 65535);
	struct packet p = data(100, 90000, "a");
	struct tcp_fields tcp;

	hold_take(g, &p);
	hold_fill_tcp(g, true, &tcp);
	T_INT(tcp.ack, 701);
	hold_free(g);
}

static void refusals_are_reported_once(void)
{
	struct denials *d = calloc(1, sizeof(*d));
	struct policy p;
	struct policy_flow f = { .direction = POLICY_EGRESS, .proto = PROTO_TCP, .port = 22 };
	struct verdict v = { POLICY_DENY, POLICY_BY_DEFAULT };
	char text[DENIAL_TEXT_BYTES];
	unsigned told = 0;

	policy_init(&p);
	f.peer = A("fd00::1");
	T_TRUE(denials_add_flow(d, &p, &f, v, "box.example", text));
	T_STR(text, "denied tcp to [fd00::1]:22 (box.example): rule 'default egress deny'; to "
		    "allow it: modify --net-rule-add allow@box.example:tcp:22");
	T_TRUE(!denials_add_flow(d, &p, &f, v, NULL, text));
	f.port = 23;
	T_TRUE(denials_add_flow(d, &p, &f, v, NULL, text));
	T_TRUE(denials_add_query(d, &p, "registry", v, text));
	T_STR(text, "denied name registry: rule 'default egress deny'; to allow it: modify "
		    "--net-rule-add allow@domain=registry");
	for (unsigned i = 0; i < 3 * DENIALS_MAX; i++) {
		f.peer.b[14] = (uint8_t)(i >> 8), f.peer.b[13] = (uint8_t)i;
		told += denials_add_flow(d, &p, &f, v, NULL, text);
	}
	T_TRUE(told <= DENIALS_MAX);
	T_TRUE(strncmp(text, "more than 1024", 14) == 0);
	policy_done(&p);
	free(d);
}

int main(void)
{
	T_RUN(flows_are_bounded_and_idle_flows_are_replaced);
	T_RUN(a_connection_ends_after_both_fins);
	T_RUN(names_are_remembered_and_forgotten);
	T_RUN(a_bucket_fills_and_owes);
	T_RUN(a_hold_keeps_bytes_until_they_are_judged);
	T_RUN(a_hold_gives_what_the_stack_takes);
	T_RUN(a_hold_ignores_acknowledgements_of_unsent_bytes);
	T_RUN(refusals_are_reported_once);
	return t_end();
}
