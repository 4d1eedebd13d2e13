/* Connects to a Box server by WebSocket, through TLS if the URL asks for it. */
#pragma once

#include "endpoint/link.h"
#include "service/service_config.h"

/* Opens *RET, which link_done() releases. Sends the token (from the environment) and the instance
 * id (from the configuration) in the handshake. Fails with a FAULT_BOX, or a FAULT_VALIDATION for a
 * bad address or token. */
MUST_USE int socket_open(const struct runtime_config *c, struct interrupt *i, uint64_t deadline_ns,
			 struct link *ret, struct fault *f);
