/*
 * Asks the host's resolvers on behalf of the guest.
 *
 * It forwards questions that policy allowed, under its own ids and from fresh sockets, and hands
 * back messages that were checked to be their answers. Servers are tried in order; the next only
 * after a timeout or a refused connection. Truncated answers are fetched by TCP. The number of
 * questions in flight and of answers kept is bounded.
 */
#pragma once

#include "base/err.h"
#include "gateway/pollset.h"
#include "policy/policy.h"
#include "wire/dns.h"

#define RESOLVER_ASKS_MAX 256u /* in flight; beyond that the guest gets SERVFAIL */
#define RESOLVER_CACHE_SLOTS 256u
#define RESOLVER_CACHED_BYTES 4096u /* longer answers are not worth keeping */
#define RESOLVER_CACHE_MAX_S 300u   /* whatever the TTL says: a live change upstream shows soon */
#define RESOLVER_DEAD_NS (30ull * 1000000000) /* a server that timed out is skipped this long */

/* Where the answer goes; the resolver only carries it. */
struct dns_origin {
	bool tcp;
	struct addr server; /* the address the guest asked */
	uint16_t guest_port;
	unsigned conn; /* TCP: slot and generation */
	uint32_t generation;
};

/* MSG is the answer to Q, checked, and may be changed; NULL: no server answered. */
typedef void resolver_done_fn(void *arg, const struct dns_query *q, const struct dns_origin *o,
			      uint8_t *msg, size_t n);

struct resolver;

struct resolver *resolver_new(resolver_done_fn *done, void *arg);
void resolver_free(struct resolver *r);

/* From policy, or /etc/resolv.conf when it names none. Host names are looked up here, so this is
 * for the time before confinement. ERR_NOT_FOUND when a name does not resolve. */
MUST_USE int resolver_configure(struct resolver *r, const struct policy *p, int resolv_conf,
				struct err *e);
/* Forgets cached answers: they were judged under another policy. */
void resolver_flush(struct resolver *r);

/* DONE may be called at once. */
void resolver_ask(struct resolver *r, const struct dns_query *q, const struct dns_origin *o,
		  uint64_t now_ns);
void resolver_fill(struct resolver *r, struct pollset *set);
void resolver_poll(struct resolver *r, const struct pollset *set, uint64_t now_ns);
