/*
 * Follows the names that a client shows on one connection, from its first byte to its last.
 *
 * A name counts for the bytes behind it, up to the next name: a second request over the same connection has a Host
 * of its own, and a client whose first TLS hello was rejected sends another. So we follow the whole stream as long
 * as it can show a name. No byte passes before the name in front of it was judged.
 *
 *   HEAD     the head of a request is held until it is whole; its body passes     (only if Host counts)
 *   CHUNK    the line with a chunk's size, then the chunk, then AFTER: the end of line behind the chunk. After the
 *            last chunk comes
 *   TRAILER  lines up to an empty one, then HEAD
 *   HELLO    a TLS hello is held until it is whole
 *   RECORDS  TLS records: another hello is held; the first record with data ends this state
 *   OVER     everything passes
 *
 * Pure: no descriptors, no allocation. The caller gives the bytes in order, each time from the first that has not
 * passed.
 */
#pragma once

#include "wire/hello.h"

enum sniff_state {
	SNIFF_BEGIN,
	SNIFF_HEAD,
	SNIFF_CHUNK,
	SNIFF_AFTER,
	SNIFF_TRAILER,
	SNIFF_HELLO,
	SNIFF_RECORDS,
	SNIFF_OVER,
};

/* At first all members but HTTP are zero. */
struct sniff {
	enum sniff_state state;
	bool http;     /* the Host of requests counts */
	bool early;    /* TLS data may come before the handshake is over */
	uint64_t left; /* so many bytes pass unread before STATE applies */
};

enum sniff_step {
	SNIFF_WAIT, /* until there are more bytes; HELLO's N is how many are needed, if that is known */
	SNIFF_PASS,  /* RET_N bytes may pass; call again with the rest */
	SNIFF_JUDGE, /* judge HELLO; if it is allowed, call sniff_allow(), then sniff_next() again */
};

/* Looks at the N bytes at P; N may be 0. */
enum sniff_step sniff_next(struct sniff *s, const uint8_t *p, size_t n, size_t *ret_n,
			   struct hello *ret_hello);
void sniff_allow(struct sniff *s, const struct hello *h);
