/* The RPC over our own standard input and output. When the input ends, the server ends. */
#pragma once

#include "box/server.h"

MUST_USE int stdio_peer_open(struct server *s, bool legacy);
