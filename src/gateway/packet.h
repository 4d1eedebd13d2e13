/*
 * Parses and makes Ethernet frames.
 *
 * packet_parse() reads the headers that the guest wrote, and checks every length against the size
 * of the frame before it reads further. packet_parse() accepts only what the gateway carries: ARP,
 * IPv4 without options or fragments, and IPv6 without extension headers. An IP packet must hold
 * TCP, UDP or ICMP. The other files in src/gateway take the fields of headers from struct packet.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/lease.h"

#define ETH_BYTES 14u
#define ARP_FRAME_BYTES 42u
#define IP_PACKET_MAX 65535u
#define FRAME_MAX_BYTES (ETH_BYTES + IP_PACKET_MAX)
/* room for each frame that we make without data of a caller. The longest is an ICMPv6 error, which
 * quotes the packet that caused it */
#define REPLY_MAX_BYTES 640u

enum packet_kind { PACKET_ARP, PACKET_TCP, PACKET_UDP, PACKET_ICMP4, PACKET_ICMP6 };

/* Why a frame was refused. struct counters has one counter for each reason. */
enum packet_fault {
	FAULT_NONE,
	FAULT_SHORT,   /* the frame has fewer bytes than its headers say */
	FAULT_TYPE,    /* not ARP, IPv4 or IPv6 */
	FAULT_HEADER,  /* wrong version, header length or reserved bits */
	FAULT_OPTIONS, /* IPv4 options, IPv6 extension headers */
	FAULT_FRAGMENT,
	FAULT_PROTOCOL, /* not TCP, UDP or ICMP */
	FAULT_COUNT
};

enum tcp_flags { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_PSH = 8, TCP_ACK = 16, TCP_URG = 32 };

struct packet {
	uint8_t *frame;
	size_t n; /* length without the padding that may follow */
	enum packet_kind kind;
	struct addr src, dst;
	size_t l4; /* offset of the TCP, UDP or ICMP header */
	size_t data, data_n;
	uint16_t src_port, dst_port; /* only for TCP and UDP */
	uint32_t seq, ack;           /* only for TCP */
	uint16_t window;
	uint8_t flags;
	uint8_t icmp_type, icmp_code;
};

enum packet_fault packet_parse(uint8_t *frame, size_t n, struct packet *ret);

/* Removes the urgent flag and pointer of a TCP segment, and corrects the checksum. */
void packet_clear_urgent(struct packet *p);
/* Returns the MSS that a SYN offers, or 536 if the SYN offers less or none. If the SYN has an
 * offer and RAISE_TO is larger, changes the offer in the packet to RAISE_TO, but still returns the
 * old one. */
unsigned packet_take_mss(struct packet *p, unsigned raise_to);
/* Sets the acknowledgement number and the window of a TCP segment, and corrects the checksum. */
void packet_set_ack(struct packet *p, uint32_t ack, uint16_t window);
/* Returns true if the checksum of a TCP segment is right. */
bool packet_checksum_ok(const struct packet *p);
/* Finds the TCP or UDP flow of the guest that an ICMP "unreachable" quotes. Returns false if it
 * quotes no such flow. */
bool packet_quoted_flow(const struct packet *p, enum packet_kind *ret_kind, struct addr *ret_peer,
			uint16_t *ret_guest_port, uint16_t *ret_peer_port);
/* Returns how many sequence numbers a segment takes up. */
uint32_t packet_seq_len(const struct packet *p);

enum {
	ICMP4_ECHO_REPLY = 0,
	ICMP4_UNREACHABLE = 3,
	ICMP4_ECHO = 8,
	ICMP6_UNREACHABLE = 1,
	ICMP6_ECHO = 128,
	ICMP6_ECHO_REPLY = 129,
	ICMP6_NEIGHBOUR_SOLICIT = 135,
	ICMP6_NEIGHBOUR_ADVERT = 136,
};

/* --- frames that we make; each function returns the length of its frame ---------------------- */

/* Source and destination of a new frame. */
struct packet_ends {
	const uint8_t *src_mac, *dst_mac;
	struct addr src, dst;
	uint16_t src_port, dst_port;
};

struct tcp_fields {
	uint32_t seq, ack;
	uint8_t flags;
	uint16_t window;
	uint16_t mss; /* 0 for no MSS option */
};

/* OUT must have room for ETH_BYTES + 40 + 24 + N bytes; DATA may be NULL when N is 0. */
size_t packet_make_tcp(uint8_t *out, const struct packet_ends *ends, const struct tcp_fields *tcp,
		       const void *data, size_t n);
size_t packet_make_udp(uint8_t *out, const struct packet_ends *ends, const void *data, size_t n);
/* Why a packet does not arrive. */
enum unreachable { UNREACHABLE_PROHIBITED, UNREACHABLE_HOST };
/* Makes an ICMP "unreachable" about P, from FROM back to P's sender. */
size_t packet_make_unreachable(uint8_t out[REPLY_MAX_BYTES], const struct packet *p,
			       enum unreachable why, const struct addr *from,
			       const uint8_t from_mac[MAC_BYTES]);
/* Makes the reset that answers P (RFC 9293 3.10.7.1). Returns 0 if P is a reset itself. */
size_t packet_make_reset(uint8_t out[REPLY_MAX_BYTES], const struct packet *p,
			 const uint8_t from_mac[MAC_BYTES]);
/* Makes an ARP question (OP 1) or answer (OP 2). */
size_t packet_make_arp(uint8_t out[ARP_FRAME_BYTES], unsigned op, const uint8_t src_mac[MAC_BYTES],
		       const struct addr *src, const uint8_t dst_mac[MAC_BYTES],
		       const struct addr *dst);
/* Makes a neighbour advertisement, which says that SRC has SRC_MAC. */
size_t packet_make_neighbour(uint8_t out[REPLY_MAX_BYTES], const struct packet_ends *ends);

/* --- checksums ------------------------------------------------------------------------------- */

uint16_t checksum(const void *p, size_t n, uint32_t sum);
/* Returns the partial sum of a pseudo header, for checksum(). */
uint32_t checksum_pseudo(const struct addr *src, const struct addr *dst, uint8_t protocol,
			 size_t n);
