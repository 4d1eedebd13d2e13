#include "gateway/packet.h"
#include "t.h"

static const uint8_t mac_a[MAC_BYTES] = { 2, 0, 0, 0, 0, 1 },
		     mac_b[MAC_BYTES] = { 2, 0, 0, 0, 0, 2 };

static struct addr A(const char *s) {
	struct addr a = { 0 };

	T_INT(addr_parse(str_of(s), &a), 0);
	return a;
}

static struct packet_ends
ends(bool v6)
{
	return (struct packet_ends){ .src_mac = mac_a,
				     .dst_mac = mac_b,
				     .src = A(v6 ? "2001:db8::1" : "192.0.2.1"),
				     .dst = A(v6 ? "2001:db8::2" : "192.0.2.2"),
				     .src_port = 1111,
				     .dst_port = 2222 };
}

static void made_packets_can_be_parsed(void)
{
	uint8_t frame[256];
	struct packet p;

	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct packet_ends e = ends(v6);
		struct tcp_fields tcp = {
			.seq = 7, .ack = 9, .flags = TCP_SYN, .window = 5, .mss = 1460
		};
		size_t n = packet_make_tcp(frame, &e, &tcp, "abc", 3);

		memset(frame + n, 0xee, 6); /* padding, as short frames have */
		T_INT(packet_parse(frame, n + 6, &p), FAULT_NONE);
		T_INT(p.n, n);
		T_INT(p.kind, PACKET_TCP);
		T_TRUE(addr_eq(&p.src, &e.src) && addr_eq(&p.dst, &e.dst));
		T_INT(p.src_port, 1111);
		T_INT(p.seq, 7);
		T_INT(p.data_n, 3);
		T_INT(packet_seq_len(&p), 4);
		T_TRUE(packet_checksum_ok(&p));
		T_INT(packet_take_mss(&p, 32768), 1460);
		T_TRUE(packet_checksum_ok(&p));
		T_INT(packet_take_mss(&p, 0), 32768);
		n = packet_make_udp(frame, &e, "hello", 5);
		T_INT(packet_parse(frame, n, &p), FAULT_NONE);
		T_INT(p.kind, PACKET_UDP);
		T_INT(p.data_n, 5);
		for (size_t k = 0; k < n; k++)
			T_INT(packet_parse(frame, k, &p), FAULT_SHORT);
	}
}

static void urgent_is_removed_and_the_checksum_stays_correct(void)
{
	struct packet_ends e = ends(false);
	struct tcp_fields tcp = { .seq = 1, .ack = 2, .flags = TCP_ACK | TCP_URG, .window = 1 };
	uint8_t frame[128];
	struct packet p;
	size_t n = packet_make_tcp(frame, &e, &tcp, "data", 4);
	uint16_t sum;

	T_INT(packet_parse(frame, n, &p), FAULT_NONE);
	frame[p.l4 + 18] = 0x12, frame[p.l4 + 19] = 0x34;
	frame[p.l4 + 16] = frame[p.l4 + 17] = 0;
	sum = checksum(frame + p.l4, p.n - p.l4, checksum_pseudo(&p.src, &p.dst, 6, p.n - p.l4));
	frame[p.l4 + 16] = (uint8_t)(sum >> 8), frame[p.l4 + 17] = (uint8_t)sum;
	T_TRUE(packet_checksum_ok(&p));
	packet_clear_urgent(&p);
	T_TRUE(packet_checksum_ok(&p));
	T_INT(p.flags, TCP_ACK);
	T_INT(frame[p.l4 + 13], TCP_ACK);
	T_INT(frame[p.l4 + 18] | frame[p.l4 + 19], 0);
}

static void resets_fit_their_cause(void)
{
	struct packet_ends e = ends(false);
	struct tcp_fields tcp = { .seq = 100, .flags = TCP_SYN };
	uint8_t frame[128], reply[REPLY_MAX_BYTES];
	struct packet p, r;
	size_t n = packet_make_tcp(frame, &e, &tcp, NULL, 0);

	T_INT(packet_parse(frame, n, &p), FAULT_NONE);
	n = packet_make_reset(reply, &p, mac_b);
	T_INT(packet_parse(reply, n, &r), FAULT_NONE);
	T_INT(r.flags, TCP_RST | TCP_ACK);
	T_INT(r.ack, 101);
	T_INT(r.src_port, 2222);
	tcp = (struct tcp_fields){ .seq = 5, .ack = 77, .flags = TCP_ACK };
	n = packet_make_tcp(frame, &e, &tcp, "x", 1);
	T_INT(packet_parse(frame, n, &p), FAULT_NONE);
	n = packet_make_reset(reply, &p, mac_b);
	T_INT(packet_parse(reply, n, &r), FAULT_NONE);
	T_INT(r.flags, TCP_RST);
	T_INT(r.seq, 77);
	tcp.flags = TCP_RST;
	n = packet_make_tcp(frame, &e, &tcp, NULL, 0);
	T_INT(packet_parse(frame, n, &p), FAULT_NONE);
	T_INT(packet_make_reset(reply, &p, mac_b), 0); /* a reset is not answered by a reset */
}

static void unreachable_quotes_its_cause(void)
{
	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct packet_ends e = ends(v6);
		uint8_t frame[1200] = { 0 }, reply[REPLY_MAX_BYTES], data[1000] = { 0 };
		size_t n = packet_make_udp(frame, &e, data, sizeof(data));
		struct packet p, r;
		enum packet_kind kind = PACKET_ARP;
		struct addr peer;
		uint16_t guest_port = 0, peer_port = 0;

		T_INT(packet_parse(frame, n, &p), FAULT_NONE);
		n = packet_make_unreachable(reply, &p, UNREACHABLE_PROHIBITED, &e.dst, mac_b);
		T_TRUE(n <= REPLY_MAX_BYTES);
		T_INT(packet_parse(reply, n, &r), FAULT_NONE);
		T_TRUE(addr_eq(&r.dst, &e.src));
		T_TRUE(packet_quoted_flow(&r, &kind, &peer, &guest_port, &peer_port));
		T_INT(kind, PACKET_UDP);
		T_INT(guest_port, 1111);
		T_INT(peer_port, 2222);
		T_TRUE(addr_eq(&peer, &e.dst));
	}
}

int main(void)
{
	T_RUN(made_packets_can_be_parsed);
	T_RUN(urgent_is_removed_and_the_checksum_stays_correct);
	T_RUN(resets_fit_their_cause);
	T_RUN(unreachable_quotes_its_cause);
	return t_end();
}
