/*
 * The work of a hand: one request of its server, from the first byte to the last. A hand may wait, for a lock, a
 * disk, a registry or a supervisor; its server does not (client/hands.h).
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "wire/hand.h"

/* The number of the descriptor at which the program cordon-hand finds its socket. */
#define HAND_FD 3
/* the bound sessions_only, as an argument of the program */
#define HAND_SESSIONS "sessions"
#define HAND_ANYTHING "anything"

/* What the hands of a foreman do not do, whatever the server asks. The server reads what strangers write, and may
 * have been taken over; the foreman reads nothing of theirs. */
struct hand_bounds {
	const char *const *refused; /* as in struct source_rules */
	size_t n_refused;
	/* Only what a server's own sessions need: no start of a sandbox that is there, and new sandboxes are ephemeral.
	 * Of the host they may have directories, and nothing else: no root, disk, volume or port. */
	bool sessions_only;
};

/* Does the request in BODY, within BOUNDS. ANSWER gets the whole frame of the answer, FDS the descriptors that
 * travel with it: none or HAND_FDS of them. The caller closes them; a sandbox whose only leash
 * is closed ends. Supervisors that the request started stay children of ours: the caller reaps
 * them. -EPROTO if BODY is no request. */
MUST_USE int hand_do(const struct hand_bounds *bounds, struct str body, struct buf *answer,
		     int fds[HAND_FDS], unsigned *ret_n_fds);
