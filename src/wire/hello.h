/*
 * Which name the first bytes of a connection show: the server name of a TLS ClientHello, or the
 * Host of an HTTP/1 request. Nothing else is understood, and nothing is trusted: a hello that does
 * not parse, or a name that could be read in two ways, is said to be bad.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HELLO_MAX_BYTES \
	16384u /* what is looked at; a ClientHello is far below, post-quantum ones too */
#define HELLO_NAME_BYTES 254

enum hello_kind {
	HELLO_MORE,     /* may become one: more bytes are needed */
	HELLO_TLS,      /* the name is in the hello */
	HELLO_TLS_BARE, /* a TLS hello without a name */
	HELLO_HTTP,     /* the name is in Host */
	HELLO_OPAQUE,   /* neither TLS nor HTTP/1 */
	HELLO_BAD,      /* malformed, or longer than HELLO_MAX_BYTES */
};

/* NAME is lower case without trailing dot; set for HELLO_TLS and HELLO_HTTP. Host may be an address. */
enum hello_kind hello_parse(const uint8_t *p, size_t n, char name[HELLO_NAME_BYTES]);
