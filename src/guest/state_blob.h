/*
 * The state blob: bytes that a client leaves with pid 1, so that later clients can get them. Each
 * sandbox has one state blob, which pid 1 keeps in memory until the sandbox stops. The blob has a
 * version. A terminal client keeps the state of its shell in the state blob, because that state
 * must not be in any file of the sandbox or the host.
 *
 * A client that changes the blob names the version that it replaces. If two clients change the same
 * version, pid 1 refuses the second change. The sandbox's memory limit does not apply to pid 1, so
 * the blob has a limit of its own (STATE_MAX_BYTES).
 */
#pragma once

#include "guest/connection.h"

void state_blob_get(struct connection *c, uint32_t stream);
void state_blob_put(struct connection *c, uint32_t stream, struct str body);
