/* The RPC over a WebSocket: one text message is one message of the RPC. */
#pragma once

#include "box/peer.h"

/* Opens the RPC. The handshake must have allowed it. LEGACY says that the peer sends no headers. */
void rpc_peer_open(struct peer *p, bool legacy);
