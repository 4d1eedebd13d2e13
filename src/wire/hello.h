/*
 * Reads which name the first bytes of a connection show: the server name of a TLS or DTLS
 * ClientHello, or the Host of an HTTP/1 request. It understands nothing else and trusts nothing:
 * bytes that do not parse, or that two servers could read in two ways, are reported as bad.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is looked at and held meanwhile: a ClientHello of 20 KB exists, a head of a request of 40 KB is taken
 * by no server we know. Below the window of the stack behind us (64 KiB), which so takes all of it at once. */
#define HELLO_MAX_BYTES (48u << 10)
#define HELLO_NAME_BYTES 254

enum hello_kind {
	HELLO_MORE,   /* may become a hello: more bytes are needed */
	HELLO_TLS,    /* the name is in the hello */
	HELLO_HTTP,   /* the name is in Host */
	HELLO_BARE,   /* TLS or HTTP, and it shows no name */
	HELLO_HIDDEN, /* QUIC: there is a name that only the two ends can read */
	HELLO_OPAQUE, /* none of these */
	HELLO_BAD,    /* malformed, or longer than HELLO_MAX_BYTES */
};

struct hello {
	enum hello_kind kind;
	size_t n; /* bytes it takes; HELLO_MORE: bytes without which it cannot be known */
	char name
		[HELLO_NAME_BYTES]; /* TLS, HTTP: lower case without trailing dot; Host may be an address */
	bool early;                 /* TLS: data may follow before the server has answered */
	bool chunked;               /* HTTP: so is what follows; else it has BODY bytes */
	uint64_t body;
};

/* True for a TLS record, by its first byte. */
bool hello_is_tls(uint8_t first);
/* The first bytes of a connection: HELLO_BAD for another record of TLS, which no client begins with and some
 * servers skip, so that the hello comes unseen behind it. HELLO_MORE, or HELLO_OPAQUE for all else. */
enum hello_kind hello_look_ahead(const uint8_t *p, size_t n);
void hello_read_tls(const uint8_t *p, size_t n, struct hello *ret);
/* Reads the head of a request, with the empty line that ends it. */
void hello_read_http(const uint8_t *p, size_t n, struct hello *ret);
/* Reads a whole datagram. Never HELLO_MORE. */
void hello_read_datagram(const uint8_t *p, size_t n, struct hello *ret);
