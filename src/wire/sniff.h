/*
 * Finds every server name that a client sends on one connection, from the first byte of the
 * connection to the last.
 *
 * A name is valid for the bytes after it, up to the next name. A second HTTP request on the same
 * connection has its own Host. A client whose first TLS hello was rejected sends another hello. So
 * this code reads the stream as long as another name can come. When it finds a name, the bytes
 * after the name pass only after the caller has judged the name.
 *
 *   BEGIN    the first bytes decide whether HEAD, HELLO or OVER follows
 *   HEAD     (only if the caller judges Host) a request's head is held until it is whole; then the
 *            body of the request passes
 *   CHUNK    the line with a chunk's size, then the chunk; the state AFTER is the end of line
 *            behind the chunk
 *   TRAILER  after the last chunk: lines up to an empty line, then HEAD
 *   HELLO    a TLS hello is held until it is whole
 *   RECORDS  TLS records: another hello is held; the first record with data ends this state, unless
 *            the client may send such a record early
 *   OVER     everything passes
 *
 * This code uses no descriptors and allocates no memory. The caller passes the bytes in order, each
 * time from the first byte that has not passed.
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

/* Before the first call the caller sets `http` and zeroes all other members. */
struct sniff {
	enum sniff_state state;
	bool http;     /* the caller judges the Host of requests */
	bool early;    /* the client may send TLS data before the handshake is over */
	uint64_t left; /* bytes that pass unread before `state` applies */
};

enum sniff_step {
	SNIFF_WAIT, /* wait for more bytes; ret_hello->n says how many are needed, if known */
	SNIFF_PASS, /* *RET_N bytes may pass; call again with the rest */
	/* judge *RET_HELLO; if it is allowed, call sniff_allow(), then sniff_next() again */
	SNIFF_JUDGE,
};

/* Looks at the N bytes at P; N may be 0. */
enum sniff_step sniff_next(struct sniff *s, const uint8_t *p, size_t n, size_t *ret_n,
			   struct hello *ret_hello);
void sniff_allow(struct sniff *s, const struct hello *h);
