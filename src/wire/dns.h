/*
 * DNS messages for a forwarder. A question is decoded completely. An answer is decoded only as a
 * list of records.
 *
 * The work is bounded by the length of the message: there is no recursion, a compression pointer
 * may only point backwards, and a message with surplus bytes or cut records is refused. The name of
 * a question comes out in lower case, with letters, digits, hyphens and underscores only. A label
 * with any other byte makes the question malformed, so that no name can be read in two ways. The
 * names in the records of an answer are skipped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define DNS_HEADER_BYTES 12u
#define DNS_MESSAGE_MAX 65535u   /* the largest length in DNS over TCP */
#define DNS_UDP_PLAIN_BYTES 512u /* the largest answer to a client without EDNS */
/* The longest UDP answer that we send, and that we tell servers to send. Longer datagrams might be
 * fragmented. */
#define DNS_UDP_EDNS_BYTES 1232u
#define DNS_NAME_TEXT_BYTES 254
#define DNS_QUESTION_MAX_BYTES 259u /* a name of 255 bytes, the type and the class */
#define DNS_QUERY_MAX_BYTES (DNS_HEADER_BYTES + DNS_QUESTION_MAX_BYTES + 11u)

enum dns_type {
	DNS_A = 1,
	DNS_CNAME = 5,
	DNS_AAAA = 28,
	DNS_OPT = 41,
	DNS_SVCB = 64,
	DNS_HTTPS = 65
};
enum dns_rcode {
	DNS_NOERROR = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_REFUSED = 5,
};
#define DNS_CLASS_IN 1u

struct dns_query {
	uint16_t id;
	bool recurse;                   /* the flag RD */
	char name[DNS_NAME_TEXT_BYTES]; /* lower case, no trailing dot; "" is the root */
	uint16_t type, class;
	/* as the client sent it, with its upper and lower case */
	uint8_t question[DNS_QUESTION_MAX_BYTES];
	size_t question_n;
	bool edns;
	uint16_t udp_bytes; /* the largest answer in bytes that the client accepts by UDP */
	bool dnssec;        /* the flag DO */
};

/* Returns 0 for a question. Returns -EBADMSG if the message is no question and must not be
 * answered, -EINVAL if the answer must be FORMERR, -EOPNOTSUPP if the answer must be NOTIMP. In the
 * last two cases ret->id is set and ret->question_n is 0. */
MUST_USE int dns_query_decode(const uint8_t *p, size_t n, struct dns_query *ret);
/* Writes a query to a server, with Q's question and the parameter ID as its id. Returns the length
 * of the query. */
size_t dns_query_encode(const struct dns_query *q, uint16_t id, uint8_t out[DNS_QUERY_MAX_BYTES]);

/* Writes an answer without records: a refusal, "no such name" or "no data". Returns its length. If
 * TRUNCATED is true, the answer has the flag TC, and the client will ask again by TCP. */
size_t dns_reply_encode(const struct dns_query *q, enum dns_rcode rcode, bool truncated,
			uint8_t out[DNS_QUERY_MAX_BYTES]);

/* Checks that the message is an answer to Q, that its id is the parameter ID, and that no record is
 * cut. Returns 0 or -EBADMSG. */
MUST_USE int dns_answer_check(const uint8_t *p, size_t n, const struct dns_query *q, uint16_t id);
enum dns_rcode dns_answer_rcode(const uint8_t *p);
bool dns_answer_truncated(const uint8_t *p);
/* Changes a checked answer so that it fits the client's query Q: sets the id of Q, and spells the
 * name as Q does. */
void dns_answer_address_to(uint8_t *p, const struct dns_query *q);

enum dns_section { DNS_SECTION_ANSWER, DNS_SECTION_AUTHORITY, DNS_SECTION_ADDITIONAL };
struct dns_record {
	enum dns_section section;
	uint16_t type, class;
	uint32_t ttl;
	size_t ttl_at; /* offset of the TTL in the message */
	size_t data_at;
	uint16_t data_n;
};
struct dns_walk {
	const uint8_t *p;
	size_t n, at;
	unsigned left[3];
};
/* Starts at the first record of a checked answer. */
void dns_walk_start(struct dns_walk *w, const uint8_t *p, size_t n);
bool dns_walk_next(struct dns_walk *w, struct dns_record *ret);
