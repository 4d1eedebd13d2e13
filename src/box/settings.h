/* The settings of cordon-box, from its command line and its environment. */
#pragma once

#include "base/json.h"
#include "box/handshake.h"

#define SETTINGS_PORT 5410
#define SETTINGS_TTL_MAX_SEC (366 * 86400u) /* a year; a longer time must be a mistake */
#define SETTINGS_PING_MS 30000u
#define SETTINGS_PING_MIN_MS 10u       /* shorter times would only burn CPU time */
#define SETTINGS_PING_MAX_MS 86400000u /* a day; a longer time must be a mistake */

struct settings {
	const char *host;
	uint16_t port;
	bool stdio;
	struct handshake_trust trust;
	struct json_doc *config; /* LANGBOT_BOX_CONFIG, or NULL */
	bool unsafe_storage;     /* skip the four checks of storage (service/readiness.h) */
	bool serve;       /* this process is the server process (box/serve.h), not its parent */
	uint64_t ttl_sec; /* idle time after which a session ends; 0 means never */
	uint64_t ping_ms; /* time between two pings of a relay */
	bool watch_loop;  /* write a log line if a handler of the loop blocked */
	bool help, version;
};

/* Fills S. Fails with ERR_USAGE for bad arguments and with ERR_INVALID for a bad environment.
 * Writes a line of text to WARNING, or "" if there is nothing to warn about. */
MUST_USE int settings_read(struct settings *s, int argc, char **argv, char warning[256],
			   struct err *e);
void settings_done(struct settings *s);
