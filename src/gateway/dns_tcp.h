/*
 * A small TCP server that only answers DNS questions. It takes every connection of the guest to
 * port 53 of any address.
 *
 * libslirp does not get these connections, because it would connect the guest to a real server. The
 * link loses no packets and questions are short. So this implementation of TCP is as small as
 * possible: it accepts only data that arrives in order, knows no option except MSS, and has one
 * retransmission timer.
 */
#pragma once

#include "gateway/packet.h"
#include "gateway/pollset.h"
#include "wire/dns.h"

#define DNS_TCP_CONNS_MAX 32u
#define DNS_TCP_QUERY_MAX_BYTES 2048u /* room for several questions */
#define DNS_TCP_IDLE_NS (20ull * 1000000000)
#define DNS_TCP_RESEND_NS (300ull * 1000000)
#define DNS_TCP_RESENDS_MAX 8u

struct dns_tcp;

struct dns_tcp_ops {
	void (*send)(void *arg, uint8_t *frame, size_t n);
	/* Called with a whole message. The called function must later call dns_tcp_answer()
	 * once. */
	void (*query)(void *arg, const struct addr *server, unsigned conn, uint32_t generation,
		      const uint8_t *p, size_t n);
	void *arg;
};

struct dns_tcp *dns_tcp_new(const struct lease *lease, const struct dns_tcp_ops *ops);
void dns_tcp_free(struct dns_tcp *d);

/* Handles a segment of the guest to port 53. */
void dns_tcp_input(struct dns_tcp *d, const struct packet *p, uint64_t now_ns);
/* Sends an answer. Does nothing if the connection has ended. */
void dns_tcp_answer(struct dns_tcp *d, unsigned conn, uint32_t generation, const uint8_t *p,
		    size_t n, uint64_t now_ns);
void dns_tcp_fill(struct dns_tcp *d, struct pollset *set);
void dns_tcp_due(struct dns_tcp *d, uint64_t now_ns);
