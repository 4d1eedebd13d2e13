/*
 * What a hand does with one request of its server. A hand may wait for a lock, a disk, a registry
 * or a supervisor. The server itself never waits for these (client/hands.h).
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "wire/hand.h"

/* The descriptor at which the program cordon-hand finds its socket. */
#define HAND_FD 3
/* The argument of cordon-hand. HAND_SESSIONS sets sessions_only (see below), HAND_ANYTHING does
 * not. */
#define HAND_SESSIONS "sessions"
#define HAND_ANYTHING "anything"

/* What the hands of a foreman refuse, whatever the server asks for. The server reads what peers
 * write, so an attacker may control the server. The foreman, which reads nothing from a peer, sets
 * these bounds. */
struct hand_bounds {
	/* directories of the host that no sandbox may share, as in struct source_rules */
	const char *const *refused;
	size_t n_refused;
	/* If true, hands do only what a server's own sessions need. They start no existing sandbox,
	 * and new sandboxes are ephemeral. A new sandbox may mount directories of the host. It may
	 * not use a directory or disk of the host as its root, mount a disk or a named volume, or
	 * publish a port. */
	bool sessions_only;
};

/* Does the request in BODY, within BOUNDS. Writes the whole frame of the answer to ANSWER. Writes
 * the descriptors of the answer to FDS: none, or HAND_FDS of them. The caller closes these
 * descriptors. One of them is the leash of a new sandbox; when the leash is closed, the sandbox
 * ends. Supervisors that the request started are our children; the caller reaps them. Returns 0, or
 * -EPROTO if BODY is no request. */
MUST_USE int hand_do(const struct hand_bounds *bounds, struct str body, struct buf *answer,
		     int fds[HAND_FDS], unsigned *ret_n_fds);
