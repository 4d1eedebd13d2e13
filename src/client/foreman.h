/*
 * Starts the hands of a server (client/hands.h), and starts a hand again when it has ended. The
 * foreman is a separate process with its own loop. The server cannot start programs itself, because
 * it gives up that right when it confines itself. The foreman reads nothing that a peer or a
 * sandbox sends.
 *
 * The foreman passes the socket of each hand to the server on a channel. When the server ends, the
 * channel hangs up and the foreman calls foreman_gone_fn. When the foreman ends, for any reason,
 * the kernel kills the hands.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "client/hand.h"
#include "loop/loop.h"

struct foreman;

/* The greatest number of hands. foreman_usual_hands() returns how many hands are useful on this
 * machine, up to this number: two hands for each CPU, because a hand needs a CPU for about half of
 * its time. */
#define FOREMAN_HANDS_MAX 8u
unsigned foreman_usual_hands(void);

/* Called when the server has ended. The owner still has to free the foreman. */
typedef void foreman_gone_fn(void *arg);

/* Starts N hands. Takes over CHANNEL, a unix socket. The server passes the other end to
 * hands_new(). NOFILE is the soft limit of open files for hands, supervisors and commands. The
 * server had this limit before it raised its own limit. BOUNDS must outlive the foreman. */
MUST_USE int foreman_new(struct loop *loop, int channel, unsigned n, uint64_t nofile,
			 const struct hand_bounds *bounds, foreman_gone_fn *gone, void *arg,
			 struct foreman **ret, struct err *e);
void foreman_free(struct foreman *f);
