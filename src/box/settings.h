/* What the command line and the environment of cordon-box say. */
#pragma once

#include "base/json.h"
#include "box/handshake.h"

#define SETTINGS_PORT 5410

struct settings {
	const char *host;
	uint16_t port;
	bool stdio;
	struct handshake_trust trust;
	struct json_doc *config; /* LANGBOT_BOX_CONFIG, or NULL */
	bool serve;              /* we are the process that reads peers */
	bool help, version;
};

/* Fills S. ERR_USAGE for bad arguments, ERR_INVALID for a bad environment. WARNING gets a line, or stays "". */
MUST_USE int settings_read(struct settings *s, int argc, char **argv, char warning[256],
			   struct err *e);
void settings_done(struct settings *s);
