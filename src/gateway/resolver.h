/*
 * Asks DNS servers on behalf of the guest: the servers that policy names or, if it names none, the
 * host's own servers.
 *
 * The resolver forwards the questions that policy allowed. Each question gets a new id and a new
 * socket. Only messages that answer the question are passed on. After a time-out or a refused
 * connection the resolver asks the next server. If an answer is truncated, it asks again by TCP.
 * The number of questions in flight and of kept answers is bounded.
 */
#pragma once

#include "base/err.h"
#include "gateway/pollset.h"
#include "policy/policy.h"
#include "wire/dns.h"

#define RESOLVER_ASKS_MAX 256u /* questions in flight; a further question gets SERVFAIL */
#define RESOLVER_CACHE_SLOTS 256u
#define RESOLVER_CACHED_BYTES 4096u /* longer answers are not kept */
/* an answer is kept at most this long, even if its TTL is longer */
#define RESOLVER_CACHE_MAX_S 300u
#define RESOLVER_DEAD_NS (30ull * 1000000000) /* a server that timed out is skipped this long */

/* Says where the answer must go. The resolver does not read this struct, but passes it on to the
 * callback. */
struct dns_origin {
	bool tcp;
	struct addr server; /* the address that the guest asked */
	uint16_t guest_port;
	unsigned conn; /* TCP: the slot of the connection in struct dns_tcp */
	/* TCP: the number of the connection. If the connection in the slot has another number when
	 * the answer comes, the guest has closed the connection that asked, and the answer is
	 * dropped. */
	uint32_t generation;
};

/* MSG is the checked answer to Q and may be changed. It is NULL if no server answered, or if
 * too many questions were in flight (RESOLVER_ASKS_MAX). */
typedef void resolver_done_fn(void *arg, const struct dns_query *q, const struct dns_origin *o,
			      uint8_t *msg, size_t n);

struct resolver;

struct resolver *resolver_new(resolver_done_fn *done, void *arg);
void resolver_free(struct resolver *r);

/* Takes the servers from policy, or from /etc/resolv.conf if policy names no server. If policy
 * gives a server by its host name, looks the name up. So this function must run before confine().
 * Fails with ERR_NOT_FOUND if such a name does not resolve. */
MUST_USE int resolver_configure(struct resolver *r, const struct policy *p, int resolv_conf,
				struct err *e);
/* Removes the kept answers. Call this when the policy changes, because the answers were judged
 * under the old policy. */
void resolver_flush(struct resolver *r);

/* Asks Q. The callback may be called before this function returns. */
void resolver_ask(struct resolver *r, const struct dns_query *q, const struct dns_origin *o,
		  uint64_t now_ns);
void resolver_fill(struct resolver *r, struct pollset *set);
void resolver_poll(struct resolver *r, const struct pollset *set, uint64_t now_ns);
