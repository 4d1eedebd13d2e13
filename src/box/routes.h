/* The HTTP routes: health, readiness, the RPC and the relays. */
#pragma once

#include "box/peer.h"

/* The head of the peer's request is there: answers it or upgrades the connection. */
void routes_take(struct peer *p);
