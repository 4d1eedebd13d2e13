/* The RPC over a WebSocket: one text message is one message of the RPC. */
#pragma once

#include "box/peer.h"

/* Opens the RPC. The handshake must have accepted the peer. LEGACY says that the peer sent no
 * instance header. */
void rpc_peer_open(struct peer *p, bool legacy);
