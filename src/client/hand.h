/*
 * The work of a hand: one request of its server. A hand may block, for a lock, a disk, a registry or a supervisor.
 * The server never blocks (client/hands.h).
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "wire/hand.h"

/* The descriptor at which the program cordon-hand finds its socket. */
#define HAND_FD 3
/* The argument of cordon-hand. HAND_SESSIONS sets sessions_only (see below), HAND_ANYTHING does not. */
#define HAND_SESSIONS "sessions"
#define HAND_ANYTHING "anything"

/* What the hands of a foreman refuse, whatever the server asks. The server reads what peers write and may have been taken
 * over. The foreman reads nothing from a peer. */
struct hand_bounds {
	const char *const *refused; /* as in struct source_rules */
	size_t n_refused;
	/* Allows only what a server's own sessions need. An existing sandbox cannot be started, and new sandboxes are
	 * ephemeral. They may mount directories of the host, but have no root directory, disk, volume or port. */
	bool sessions_only;
};

/* Does the request in BODY, within BOUNDS. ANSWER gets the whole frame of the answer. FDS gets the descriptors of the
 * answer: none or HAND_FDS of them. The caller closes them; a sandbox ends when its only leash is closed. Supervisors
 * that the request started are our children; the caller reaps them. Returns 0, or -EPROTO if BODY is no request. */
MUST_USE int hand_do(const struct hand_bounds *bounds, struct str body, struct buf *answer,
		     int fds[HAND_FDS], unsigned *ret_n_fds);
