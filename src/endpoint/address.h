/* The address of a Box server: `ws://host:5410` and its other spellings. */
#pragma once

#include <stdint.h>

#include "base/str.h"
#include "service/fault.h"

#define ADDRESS_PORT 5410

struct address {
	char *name;    /* a host name or an address, without brackets */
	uint16_t port; /* ADDRESS_PORT if the text has none */
	char *host;    /* name and port as the header Host has them */
};

/* Reads a URL with the scheme ws or http. Its path is ignored. Fails with a FAULT_VALIDATION, also for wss and https,
 * which we do not speak. */
MUST_USE int address_read(struct str text, struct address *ret, struct fault *f);
void address_done(struct address *a);
