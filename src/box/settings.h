/* What the command line and the environment of cordon-box say. */
#pragma once

#include "base/json.h"
#include "box/handshake.h"

#define SETTINGS_PORT 5410
#define SETTINGS_TTL_MAX_SEC (366 * 86400u) /* a year: more is a mistake */

struct settings {
	const char *host;
	uint16_t port;
	bool stdio;
	struct handshake_trust trust;
	struct json_doc *config; /* LANGBOT_BOX_CONFIG, or NULL */
	bool unsafe_storage;     /* readiness checks of storage pass */
	bool serve;              /* we are the process that reads peers */
	uint64_t ttl_sec;        /* idle time after which a session ends; 0: never */
	bool watch_loop;         /* warn of handlers that waited */
	bool help, version;
};

/* Fills S. ERR_USAGE for bad arguments, ERR_INVALID for a bad environment. WARNING gets a line, or stays "". */
MUST_USE int settings_read(struct settings *s, int argc, char **argv, char warning[256],
			   struct err *e);
void settings_done(struct settings *s);
