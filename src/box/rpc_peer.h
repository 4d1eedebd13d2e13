/* The RPC over a WebSocket: one text message is one message of the RPC. */
#pragma once

#include "box/peer.h"

/* The handshake is allowed. LEGACY: the peer is of the generation that sends no headers. */
void rpc_peer_open(struct peer *p, bool legacy);
