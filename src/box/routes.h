/* The HTTP routes: health, readiness, the RPC and the relays. */
#pragma once

#include "box/peer.h"

/* Called when the head of a request is complete. Answers the request or upgrades the connection. */
void routes_take(struct peer *p);
