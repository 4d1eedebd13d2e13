/* Reads the address of a Box server: a URL such as `ws://host:5410` or `wss://host:5410`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "service/fault.h"

#define ADDRESS_PORT 5410

struct address {
	bool tls;      /* the scheme is `wss` or `https` */
	char *name;    /* a host name or an address, without brackets */
	uint16_t port; /* ADDRESS_PORT if the URL has no port */
	char *host;    /* the value for the header `Host`: name and port */
};

/* Reads a URL with the scheme `ws`, `http`, `wss` or `https`. The path of the URL is ignored.
 * Fails with a FAULT_VALIDATION. */
MUST_USE int address_read(struct str text, struct address *ret, struct fault *f);
void address_done(struct address *a);
