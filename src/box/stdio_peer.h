/* The RPC over our own standard input and output. The end of the input ends the server. */
#pragma once

#include "box/server.h"

MUST_USE int stdio_peer_open(struct server *s, bool legacy);
