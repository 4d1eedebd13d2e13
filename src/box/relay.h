/*
 * The relay of a managed process. It is a WebSocket: each text message of the peer is a line of the
 * process's input, and each line of the output is a text message to the peer.
 */
#pragma once

#include "box/peer.h"
#include "service/process.h"

/* Upgrades the connection and attaches it to the process. The handshake must have accepted the
 * peer. */
void relay_open(struct peer *p, struct process *process);
