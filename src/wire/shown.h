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

enum shown_state {
	SHOWN_BEGIN,
	SHOWN_HEAD,
	SHOWN_CHUNK,
	SHOWN_AFTER,
	SHOWN_TRAILER,
	SHOWN_HELLO,
	SHOWN_RECORDS,
	SHOWN_OVER,
};

/* Zero but for HTTP at first. */
struct shown {
	enum shown_state state;
	bool http;     /* the Host of requests counts */
	bool early;    /* data of TLS is no sign that the handshake is over */
	uint64_t left; /* bytes that pass unseen before STATE counts */
};

enum shown_step {
	SHOWN_WAIT, /* for more bytes; HELLO's N is how many there must be to go on, if that is known */
	SHOWN_PASS, /* RET_N bytes may pass; call again with the rest */
	SHOWN_JUDGE, /* HELLO tells what is shown; if that is allowed, shown_allow(), and then again */
};

/* N may be 0. */
enum shown_step shown_next(struct shown *s, const uint8_t *p, size_t n, size_t *ret_n,
			   struct hello *ret_hello);
void shown_allow(struct shown *s, const struct hello *h);
