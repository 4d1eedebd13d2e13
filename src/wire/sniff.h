/*
 * The names that a client shows on one connection, from its first byte to its last.
 *
 * A name counts for what follows it until the next one: a second request over the same connection has a
 * Host of its own, and a client whose first TLS hello was turned down sends another. So the whole stream is
 * followed as far as it can show a name, and no byte passes before the name in front of it was judged.
 *
 *   HEAD     the head of a request, held until it is whole; its body passes        (only where Host counts)
 *   CHUNK    the line with a chunk's size, then the chunk, then AFTER, the line's end behind it; after the
 *            last chunk
 *   TRAILER  lines to an empty one, then HEAD
 *   HELLO    a TLS hello, held until it is whole
 *   RECORDS  TLS records: another hello is held; the first of data ends it
 *   OVER     everything passes
 *
 * Pure: no descriptors, no allocation. Bytes come in order, each time from the first that has not passed.
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

/* Zero but for HTTP at first. */
struct sniff {
	enum sniff_state state;
	bool http;     /* the Host of requests counts */
	bool early;    /* data of TLS is no sign that the handshake is over */
	uint64_t left; /* bytes that pass unseen before STATE counts */
};

enum sniff_step {
	SNIFF_WAIT, /* for more bytes; HELLO's N is how many there must be to go on, if that is known */
	SNIFF_PASS, /* RET_N bytes may pass; call again with the rest */
	SNIFF_JUDGE, /* HELLO tells what is shown; if that is allowed, sniff_allow(), and then again */
};

/* N may be 0. */
enum sniff_step sniff_next(struct sniff *s, const uint8_t *p, size_t n, size_t *ret_n,
			   struct hello *ret_hello);
void sniff_allow(struct sniff *s, const struct hello *h);
