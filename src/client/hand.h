/*
 * The work of a hand: one request of its server, from the first byte to the last. A hand may wait, for a lock, a
 * disk, a registry or a supervisor; its server does not (client/hands.h).
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"
#include "wire/hand.h"

/* The number of the descriptor at which the program cordon-hand finds its socket. */
#define HAND_FD 3

/* Does the request in BODY. ANSWER gets the whole frame of the answer, FDS the descriptors that
 * travel with it: none or HAND_FDS of them. The caller closes them; a sandbox whose only leash
 * is closed ends. Supervisors that the request started stay children of ours: the caller reaps
 * them. -EPROTO if BODY is no request. */
MUST_USE int hand_do(struct str body, struct buf *answer, int fds[HAND_FDS], unsigned *ret_n_fds);
