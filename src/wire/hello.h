/*
 * Finds out from the first bytes of a connection which server the client asks for. The server's
 * name is in a TLS or DTLS ClientHello, or in the Host header of an HTTP/1 request. Bytes that
 * begin like a ClientHello or a request but do not parse, or that two servers could read in two
 * ways, are reported as bad.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The gateway holds at most this many bytes until it has read the name. Some clients send a
 * ClientHello of 20 KB. No server that we know accepts a request head of 40 KB. All these bytes fit
 * into the gateway's TCP window, which is 64 KiB. */
#define HELLO_MAX_BYTES (48u << 10)
#define HELLO_NAME_BYTES 254

enum hello_kind {
	HELLO_MORE,   /* more bytes are needed */
	HELLO_TLS,    /* the name is in the hello */
	HELLO_HTTP,   /* the name is in Host */
	HELLO_BARE,   /* TLS or HTTP without a name */
	HELLO_HIDDEN, /* QUIC: only the two ends can read the name */
	HELLO_OPAQUE, /* another protocol */
	HELLO_BAD,    /* malformed, or longer than HELLO_MAX_BYTES */
};

struct hello {
	enum hello_kind kind;
	size_t n; /* length of the hello; for HELLO_MORE how many bytes are needed at least */
	/* TLS, HTTP: lower case without trailing dot; Host may be an address */
	char name[HELLO_NAME_BYTES];
	/* TLS: the client may send data before the server has answered */
	bool early;
	bool chunked; /* HTTP: the body is chunked; otherwise it has BODY bytes */
	uint64_t body;
};

/* Returns true if FIRST can begin a TLS record. */
bool hello_is_tls(uint8_t first);
/* Looks at the first bytes of a connection. Returns HELLO_BAD if they begin a TLS record that is no
 * handshake. No honest client sends such a record first, but some servers skip it and read the
 * hello after it. Returns HELLO_MORE if one more byte is needed to decide, otherwise
 * HELLO_OPAQUE. */
enum hello_kind hello_look_ahead(const uint8_t *p, size_t n);
void hello_read_tls(const uint8_t *p, size_t n, struct hello *ret);
/* Reads the head of a request, with the empty line that ends it. */
void hello_read_http(const uint8_t *p, size_t n, struct hello *ret);
/* Reads a whole datagram. The kind is never HELLO_MORE. */
void hello_read_datagram(const uint8_t *p, size_t n, struct hello *ret);
