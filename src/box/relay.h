/*
 * The relay of a managed process: a WebSocket whose text messages are lines of the process's input, and which carries each
 * line of its output as one text message.
 */
#pragma once

#include "box/peer.h"
#include "service/process.h"

#define RELAY_PING_MS 30000
#define RELAY_PONG_MS 15000 /* within which a ping must be answered */

/* The handshake is allowed: upgrades the connection and attaches it. */
void relay_open(struct peer *p, struct process *process);
