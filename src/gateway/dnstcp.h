/*
 * A TCP server for one purpose: DNS over TCP, on port 53 of whatever address the guest dials.
 *
 * libslirp can only connect such a dial to a real server, so these connections never reach it: they
 * end here. The link loses nothing on its own and queries are short, so this is the smallest TCP
 * that is correct: in-order data only, no options but MSS, one retransmission timer.
 */
#pragma once

#include "gateway/packet.h"
#include "gateway/pollset.h"
#include "wire/dns.h"

#define DNSTCP_CONNS_MAX 32u
#define DNSTCP_QUERY_MAX_BYTES 2048u /* one pipelined batch of questions, with room */
#define DNSTCP_IDLE_NS (20ull * 1000000000)
#define DNSTCP_RESEND_NS (300ull * 1000000)
#define DNSTCP_RESENDS_MAX 8u

struct dnstcp;

struct dnstcp_ops {
	void (*send)(void *arg, uint8_t *frame, size_t n);
	/* A whole message; answer later with dnstcp_answer(), exactly once. */
	void (*query)(void *arg, const struct addr *server, unsigned conn, uint32_t generation,
		      const uint8_t *p, size_t n);
	void *arg;
};

struct dnstcp *dnstcp_new(const struct lease *lease, const struct dnstcp_ops *ops);
void dnstcp_free(struct dnstcp *d);

/* A segment of the guest to port 53. */
void dnstcp_input(struct dnstcp *d, const struct packet *p, uint64_t now_ns);
/* Ignored when the connection is gone. */
void dnstcp_answer(struct dnstcp *d, unsigned conn, uint32_t generation, const uint8_t *p, size_t n,
		   uint64_t now_ns);
void dnstcp_fill(struct dnstcp *d, struct pollset *set);
void dnstcp_due(struct dnstcp *d, uint64_t now_ns);
