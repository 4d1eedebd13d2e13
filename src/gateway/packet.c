#include "gateway/packet.h"

#include <string.h>

#include "base/cleanup.h"

enum { TYPE_IPV4 = 0x0800, TYPE_ARP = 0x0806, TYPE_IPV6 = 0x86dd };
enum { IP_TCP = 6, IP_UDP = 17, IP_ICMP4 = 1, IP_ICMP6 = 58 };

#define IPV4_BYTES 20u
#define IPV6_BYTES 40u
#define TCP_BYTES 20u
#define UDP_BYTES 8u
#define ICMP_BYTES 8u
#define QUOTE_MAX_BYTES 512u /* how much of the refused packet an ICMP error quotes */
#define OUR_TTL 64
#define TCP_DEFAULT_MSS 536u

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static void put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v & 0xffff);
}

uint16_t checksum(const void *data, size_t n, uint32_t start)
{
	const uint8_t *p = data;
	uint64_t sum = start;

	for (; n >= 8; p += 8, n -= 8)
		sum += (uint64_t)get32(p) + get32(p + 4);
	for (; n >= 2; p += 2, n -= 2)
		sum += get16(p);
	if (n)
		sum += (uint64_t)p[0] << 8;
	/* these four steps reduce the sum of 32-bit words to 16 bits */
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static size_t addr_bytes(const struct addr *a)
{
	return a->family == ADDR_V4 ? ADDR_V4_BYTES : ADDR_V6_BYTES;
}

uint32_t checksum_pseudo(const struct addr *src, const struct addr *dst, uint8_t protocol, size_t n)
{
	uint32_t sum = protocol + (uint32_t)n;

	for (size_t i = 0; i < addr_bytes(src); i += 2)
		sum += (uint32_t)get16(src->b + i) + get16(dst->b + i);
	return sum;
}

/* --- taking apart ---------------------------------------------------------------------------- */

static enum packet_fault parse_tcp(struct packet *p)
{
	const uint8_t *h = p->frame + p->l4;
	size_t n = p->n - p->l4, header;

	if (n < TCP_BYTES)
		return FAULT_SHORT;
	header = (size_t)(h[12] >> 4) * 4;
	if (header < TCP_BYTES || header > n)
		return FAULT_HEADER;
	p->kind = PACKET_TCP;
	p->src_port = get16(h);
	p->dst_port = get16(h + 2);
	p->seq = get32(h + 4);
	p->ack = get32(h + 8);
	p->flags = h[13] & 0x3f;
	p->window = get16(h + 14);
	p->data = p->l4 + header;
	p->data_n = n - header;
	return FAULT_NONE;
}

static enum packet_fault parse_udp(struct packet *p)
{
	const uint8_t *h = p->frame + p->l4;
	size_t n = p->n - p->l4;

	if (n < UDP_BYTES || get16(h + 4) != n)
		return FAULT_SHORT;
	if (p->dst.family == ADDR_V6 && get16(h + 6) == 0)
		return FAULT_HEADER; /* IPv6 requires a checksum */
	p->kind = PACKET_UDP;
	p->src_port = get16(h);
	p->dst_port = get16(h + 2);
	p->data = p->l4 + UDP_BYTES;
	p->data_n = n - UDP_BYTES;
	return FAULT_NONE;
}

static enum packet_fault parse_icmp(struct packet *p, enum packet_kind kind)
{
	const uint8_t *h = p->frame + p->l4;
	size_t n = p->n - p->l4;

	if (n < ICMP_BYTES)
		return FAULT_SHORT;
	p->kind = kind;
	p->icmp_type = h[0];
	p->icmp_code = h[1];
	p->data = p->l4 + ICMP_BYTES;
	p->data_n = n - ICMP_BYTES;
	return FAULT_NONE;
}

static enum packet_fault parse_l4(struct packet *p, unsigned protocol)
{
	if (protocol == IP_TCP)
		return parse_tcp(p);
	if (protocol == IP_UDP)
		return parse_udp(p);
	if (protocol == IP_ICMP4 && p->dst.family == ADDR_V4)
		return parse_icmp(p, PACKET_ICMP4);
	if (protocol == IP_ICMP6 && p->dst.family == ADDR_V6)
		return parse_icmp(p, PACKET_ICMP6);
	return FAULT_PROTOCOL;
}

static enum packet_fault parse_ipv4(struct packet *p)
{
	const uint8_t *h = p->frame + ETH_BYTES;
	size_t n = p->n - ETH_BYTES, total;

	if (n < IPV4_BYTES)
		return FAULT_SHORT;
	if (h[0] >> 4 != 4)
		return FAULT_HEADER;
	if (h[0] != 0x45)
		return FAULT_OPTIONS;
	total = get16(h + 2);
	if (total < IPV4_BYTES || total > n)
		return FAULT_SHORT;
	if (get16(h + 6) & 0x8000)
		return FAULT_HEADER;
	if (get16(h + 6) & 0x3fff)
		return FAULT_FRAGMENT;
	if (checksum(h, IPV4_BYTES, 0) != 0 || h[8] == 0)
		return FAULT_HEADER;
	p->n = ETH_BYTES + total;
	p->src = addr_v4(h + 12);
	p->dst = addr_v4(h + 16);
	p->l4 = ETH_BYTES + IPV4_BYTES;
	return parse_l4(p, h[9]);
}

static enum packet_fault parse_ipv6(struct packet *p)
{
	/* the numbers of extension headers: hop-by-hop, routing, fragment, ESP, AH, no next header,
	 * destination options, mobility … */
	static const uint8_t extension[] = { 0, 43, 44, 50, 51, 59, 60, 135, 139, 140, 253, 254 };
	const uint8_t *h = p->frame + ETH_BYTES;
	size_t n = p->n - ETH_BYTES, total;

	if (n < IPV6_BYTES)
		return FAULT_SHORT;
	if (h[0] >> 4 != 6 || h[7] == 0)
		return FAULT_HEADER;
	total = IPV6_BYTES + (size_t)get16(h + 4);
	if (total > n)
		return FAULT_SHORT;
	if (h[6] == 44)
		return FAULT_FRAGMENT;
	if (memchr(extension, h[6], sizeof(extension)))
		return FAULT_OPTIONS;
	p->n = ETH_BYTES + total;
	p->src = addr_v6(h + 8);
	p->dst = addr_v6(h + 24);
	if (p->src.family != ADDR_V6 || p->dst.family != ADDR_V6)
		return FAULT_HEADER; /* an IPv4-mapped address must not be in a packet */
	p->l4 = ETH_BYTES + IPV6_BYTES;
	return parse_l4(p, h[6]);
}

static enum packet_fault parse_arp(struct packet *p)
{
	static const uint8_t ethernet_ipv4[] = { 0, 1, 8, 0, 6, 4 };
	const uint8_t *h = p->frame + ETH_BYTES;

	if (p->n < ARP_FRAME_BYTES)
		return FAULT_SHORT;
	if (memcmp(h, ethernet_ipv4, sizeof(ethernet_ipv4)) != 0)
		return FAULT_HEADER;
	p->kind = PACKET_ARP;
	p->src = addr_v4(h + 14);
	p->dst = addr_v4(h + 24);
	return FAULT_NONE;
}

enum packet_fault packet_parse(uint8_t *frame, size_t n, struct packet *ret)
{
	*ret = (struct packet){ .frame = frame, .n = n };
	if (n < ETH_BYTES)
		return FAULT_SHORT;
	switch (get16(frame + 12)) {
	case TYPE_IPV4:
		return parse_ipv4(ret);
	case TYPE_IPV6:
		return parse_ipv6(ret);
	case TYPE_ARP:
		return parse_arp(ret);
	}
	return FAULT_TYPE;
}

/* RFC 1624: updates a checksum after one 16-bit word of the data changed. */
static void checksum_update(uint8_t *field, unsigned old, unsigned new)
{
	uint32_t sum = (uint32_t)(~get16(field) & 0xffff) + (~old & 0xffff) + new;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	put16(field, ~sum & 0xffff);
}

void packet_clear_urgent(struct packet *p)
{
	uint8_t *h = p->frame + p->l4;
	unsigned word = get16(h + 12);

	if (word & TCP_URG) {
		put16(h + 12, word & ~(unsigned)TCP_URG);
		checksum_update(h + 16, word, word & ~(unsigned)TCP_URG);
		p->flags &= (uint8_t)~TCP_URG;
	}
	if (get16(h + 18)) {
		checksum_update(h + 16, get16(h + 18), 0);
		put16(h + 18, 0);
	}
}

/* Returns the offset of the MSS option's value, or 0. */
static size_t find_mss(const struct packet *p)
{
	enum { END = 0, NOP = 1, MSS = 2 };
	size_t at = p->l4 + TCP_BYTES;

	while (at < p->data) {
		size_t left = p->data - at, len;

		if (p->frame[at] == END)
			return 0;
		if (p->frame[at] == NOP) {
			at++;
			continue;
		}
		if (left < 2 || (len = p->frame[at + 1]) < 2 || len > left)
			return 0;
		if (p->frame[at] == MSS)
			return len == 4 ? at + 2 : 0;
		at += len;
	}
	return 0;
}

unsigned packet_take_mss(struct packet *p, unsigned raise_to)
{
	size_t at = find_mss(p);
	unsigned mss;

	if (!at)
		return TCP_DEFAULT_MSS;
	mss = get16(p->frame + at);
	/* if the option is at an odd offset, we do not change it, because two words of the checksum
	 * would change. No known system sends such an option */
	if (raise_to > mss && (at - p->l4) % 2 == 0) {
		put16(p->frame + at, raise_to);
		checksum_update(p->frame + p->l4 + 16, mss, raise_to);
	}
	return mss < TCP_DEFAULT_MSS ? TCP_DEFAULT_MSS : mss;
}

void packet_set_ack(struct packet *p, uint32_t ack, uint16_t window)
{
	const unsigned at[] = { 8, 10, 14 }, now[] = { ack >> 16, ack & 0xffff, window };
	uint8_t *h = p->frame + p->l4;

	for (unsigned i = 0; i < 3; i++) {
		checksum_update(h + 16, get16(h + at[i]), now[i]);
		put16(h + at[i], now[i]);
	}
	p->ack = ack;
	p->window = window;
}

bool packet_checksum_ok(const struct packet *p)
{
	size_t n = p->n - p->l4;

	return checksum(p->frame + p->l4, n, checksum_pseudo(&p->src, &p->dst, IP_TCP, n)) == 0;
}

bool packet_quoted_flow(const struct packet *p, enum packet_kind *ret_kind, struct addr *ret_peer,
			uint16_t *ret_guest_port, uint16_t *ret_peer_port)
{
	bool v4 = p->kind == PACKET_ICMP4;
	size_t header = v4 ? IPV4_BYTES : IPV6_BYTES;
	const uint8_t *h = p->frame + p->data;
	uint8_t protocol;

	if (p->icmp_type != (v4 ? ICMP4_UNREACHABLE : ICMP6_UNREACHABLE) || p->data_n < header + 4)
		return false;
	protocol = v4 ? h[9] : h[6];
	if (protocol != IP_TCP && protocol != IP_UDP)
		return false;
	*ret_kind = protocol == IP_TCP ? PACKET_TCP : PACKET_UDP;
	*ret_peer = v4 ? addr_v4(h + 16) : addr_v6(h + 24);
	*ret_guest_port = get16(h + header);
	*ret_peer_port = get16(h + header + 2);
	return true;
}

uint32_t packet_seq_len(const struct packet *p)
{
	return (uint32_t)p->data_n + !!(p->flags & TCP_SYN) + !!(p->flags & TCP_FIN);
}

/* --- putting together ------------------------------------------------------------------------ */

static size_t put_ethernet(uint8_t *out, const uint8_t *dst, const uint8_t *src, unsigned type)
{
	memcpy(out, dst, MAC_BYTES);
	memcpy(out + MAC_BYTES, src, MAC_BYTES);
	put16(out + 12, type);
	return ETH_BYTES;
}

/* Writes Ethernet and IP headers for N bytes of PROTOCOL. Returns the offset at which these
 * bytes must go. */
static size_t put_ip(uint8_t *out, const struct packet_ends *ends, uint8_t protocol, size_t n)
{
	uint8_t *h = out + ETH_BYTES;

	if (ends->src.family == ADDR_V4) {
		put_ethernet(out, ends->dst_mac, ends->src_mac, TYPE_IPV4);
		memset(h, 0, IPV4_BYTES);
		h[0] = 0x45;
		put16(h + 2, (unsigned)(IPV4_BYTES + n));
		h[6] = 0x40; /* do not fragment */
		h[8] = OUR_TTL;
		h[9] = protocol;
		memcpy(h + 12, ends->src.b, ADDR_V4_BYTES);
		memcpy(h + 16, ends->dst.b, ADDR_V4_BYTES);
		put16(h + 10, checksum(h, IPV4_BYTES, 0));
		return ETH_BYTES + IPV4_BYTES;
	}
	put_ethernet(out, ends->dst_mac, ends->src_mac, TYPE_IPV6);
	memset(h, 0, IPV6_BYTES);
	h[0] = 0x60;
	put16(h + 4, (unsigned)n);
	h[6] = protocol;
	h[7] = protocol == IP_ICMP6 ? 255 : OUR_TTL; /* neighbour discovery requires 255 */
	memcpy(h + 8, ends->src.b, ADDR_V6_BYTES);
	memcpy(h + 24, ends->dst.b, ADDR_V6_BYTES);
	return ETH_BYTES + IPV6_BYTES;
}

static void put_l4_checksum(uint8_t *l4, size_t n, size_t at, const struct packet_ends *ends,
			    uint8_t protocol)
{
	uint16_t sum;

	put16(l4 + at, 0);
	sum = checksum(l4, n, checksum_pseudo(&ends->src, &ends->dst, protocol, n));
	put16(l4 + at, sum == 0 && protocol == IP_UDP ? 0xffff : sum);
}

size_t packet_make_tcp(uint8_t *out, const struct packet_ends *ends, const struct tcp_fields *tcp,
		       const void *data, size_t n)
{
	size_t header = tcp->mss ? TCP_BYTES + 4 : TCP_BYTES;
	size_t at = put_ip(out, ends, IP_TCP, header + n);
	uint8_t *h = out + at;

	memset(h, 0, header);
	put16(h, ends->src_port);
	put16(h + 2, ends->dst_port);
	put32(h + 4, tcp->seq);
	put32(h + 8, tcp->ack);
	h[12] = (uint8_t)(header / 4 << 4);
	h[13] = tcp->flags;
	put16(h + 14, tcp->window);
	if (tcp->mss) {
		h[20] = 2, h[21] = 4;
		put16(h + 22, tcp->mss);
	}
	if (n)
		memcpy(h + header, data, n);
	put_l4_checksum(h, header + n, 16, ends, IP_TCP);
	return at + header + n;
}

size_t packet_make_udp(uint8_t *out, const struct packet_ends *ends, const void *data, size_t n)
{
	size_t at = put_ip(out, ends, IP_UDP, UDP_BYTES + n);
	uint8_t *h = out + at;

	put16(h, ends->src_port);
	put16(h + 2, ends->dst_port);
	put16(h + 4, (unsigned)(UDP_BYTES + n));
	memcpy(h + UDP_BYTES, data, n);
	put_l4_checksum(h, UDP_BYTES + n, 6, ends, IP_UDP);
	return at + UDP_BYTES + n;
}

size_t packet_make_unreachable(uint8_t out[REPLY_MAX_BYTES], const struct packet *p,
			       enum unreachable why, const struct addr *from,
			       const uint8_t from_mac[MAC_BYTES])
{
	bool prohibited = why == UNREACHABLE_PROHIBITED;
	bool v4 = p->dst.family == ADDR_V4;
	struct packet_ends ends = {
		.src_mac = from_mac, .dst_mac = p->frame + MAC_BYTES, .src = *from, .dst = p->src
	};
	uint8_t protocol = v4 ? IP_ICMP4 : IP_ICMP6;
	size_t quote = p->n - ETH_BYTES, at;
	uint8_t *h;

	if (quote > QUOTE_MAX_BYTES)
		quote = QUOTE_MAX_BYTES;
	at = put_ip(out, &ends, protocol, ICMP_BYTES + quote);
	h = out + at;
	memset(h, 0, ICMP_BYTES);
	h[0] = v4 ? ICMP4_UNREACHABLE : ICMP6_UNREACHABLE;
	h[1] = v4 ? (prohibited ? 13 : 1) : (prohibited ? 1 : 3); /* RFC 792, RFC 1812, RFC 4443 */
	memcpy(h + ICMP_BYTES, p->frame + ETH_BYTES, quote);
	if (v4)
		put16(h + 2, checksum(h, ICMP_BYTES + quote, 0));
	else
		put_l4_checksum(h, ICMP_BYTES + quote, 2, &ends, protocol);
	return at + ICMP_BYTES + quote;
}

size_t packet_make_reset(uint8_t out[REPLY_MAX_BYTES], const struct packet *p,
			 const uint8_t from_mac[MAC_BYTES])
{
	struct packet_ends ends = { .src_mac = from_mac,
				    .dst_mac = p->frame + MAC_BYTES,
				    .src = p->dst,
				    .dst = p->src,
				    .src_port = p->dst_port,
				    .dst_port = p->src_port };
	struct tcp_fields tcp = { .flags = TCP_RST };

	if (p->flags & TCP_RST)
		return 0;
	if (p->flags & TCP_ACK) {
		tcp.seq = p->ack;
	} else {
		tcp.ack = p->seq + packet_seq_len(p);
		tcp.flags |= TCP_ACK;
	}
	return packet_make_tcp(out, &ends, &tcp, NULL, 0);
}

size_t packet_make_arp(uint8_t out[ARP_FRAME_BYTES], unsigned op, const uint8_t src_mac[MAC_BYTES],
		       const struct addr *src, const uint8_t dst_mac[MAC_BYTES],
		       const struct addr *dst)
{
	static const uint8_t ethernet_ipv4[] = { 0, 1, 8, 0, 6, 4 };
	uint8_t *h = out + put_ethernet(out, dst_mac, src_mac, TYPE_ARP);

	memcpy(h, ethernet_ipv4, sizeof(ethernet_ipv4));
	put16(h + 6, op);
	memcpy(h + 8, src_mac, MAC_BYTES);
	memcpy(h + 14, src->b, ADDR_V4_BYTES);
	memcpy(h + 18, dst_mac, MAC_BYTES);
	memcpy(h + 24, dst->b, ADDR_V4_BYTES);
	return ARP_FRAME_BYTES;
}

size_t packet_make_neighbour(uint8_t out[REPLY_MAX_BYTES], const struct packet_ends *ends)
{
	const size_t n = 32; /* bytes of an advertisement with one option */
	size_t at = put_ip(out, ends, IP_ICMP6, n);
	uint8_t *h = out + at;

	memset(h, 0, n);
	h[0] = ICMP6_NEIGHBOUR_ADVERT;
	h[4] = 0x60; /* the flags "solicited" and "override" */
	memcpy(h + 8, ends->src.b, ADDR_V6_BYTES);
	h[24] = 2, h[25] = 1; /* target link-layer address, one unit of eight bytes */
	memcpy(h + 26, ends->src_mac, MAC_BYTES);
	put_l4_checksum(h, n, 2, ends, IP_ICMP6);
	return at + n;
}
