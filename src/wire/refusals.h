/*
 * A list of the connections that a sandbox's gateway refused. The list is in shared memory that the
 * gateway writes and pid 1 reads.
 *
 * The gateway adds a refusal before it tells the sandbox that the connection is refused. So when a
 * command ends, pid 1 finds every refusal that the command can have seen. If no connection of a
 * command is refused, neither the gateway nor pid 1 makes a system call for this list. Each side
 * treats the memory as written by an attacker: texts are copied with their bounds, and numbers are
 * only compared.
 */
#pragma once

#include <stdint.h>

#include <stdbool.h>

#include "base/err.h"

/* the list holds this many different refusals; a new refusal replaces the oldest */
#define REFUSALS_KEPT 8u
#define REFUSALS_SHOWN 3u /* a message to a person shows at most this many refusals */
/* room for an IPv6 address as "[…]:65535", and for all but the longest names */
#define REFUSAL_WHAT_BYTES 96u
/* room for a rule about such an address or name, with protocol and port */
#define REFUSAL_RULE_BYTES 144u

struct refusal {
	/* the value of `count` when this connection was refused last */
	uint32_t last;
	char what[REFUSAL_WHAT_BYTES]; /* "10.0.0.5:5432", or a name */
	/* the value of --net-rule that would allow the connection, or "" */
	char rule[REFUSAL_RULE_BYTES];
};

struct refusals {
	uint32_t count; /* all refusals so far; wraps */
	struct refusal item[REFUSALS_KEPT];
};

/* The refusals of connections while one command ran. */
struct refused {
	uint32_t n;     /* refusals while the command ran */
	unsigned shown; /* how many elements of `item` are filled */
	struct refusal item[REFUSALS_SHOWN];
};

/* Makes shared memory for a list of refusals, with a size that cannot change. Returns the memory's
 * descriptor or -errno. */
MUST_USE int refusals_new(void);
/* Maps the memory behind FD. Returns NULL on failure. */
struct refusals *refusals_map(int fd, bool writable);
/* Adds a refusal. A RULE that is too long is left out, because half a rule would allow something
 * else. */
void refusals_add(struct refusals *r, const char *what, const char *rule);
uint32_t refusals_count(const struct refusals *r);
/* Fills *RET with the refusals that were added since refusals_count() returned SINCE, the latest
 * first. */
void refusals_since(const struct refusals *r, uint32_t since, struct refused *ret);
