/*
 * The edge: every frame between the guest and the rest passes here, in both directions, and is let
 * through only as part of something policy allowed.
 */
#pragma once

#include "gateway/gateway.h"

void edge_from_guest(struct gateway *g, uint8_t *frame, size_t n);
/* What the stack made for the guest; the frame is changed in place. */
void edge_from_stack(struct gateway *g, uint8_t *frame, size_t n);
/* The host may have new addresses: ends what leads to one of them. */
void edge_ask_again(struct gateway *g);
/* Hands the stack what waits for it, resets and bytes of gates; never from inside its callbacks. */
void edge_flush(struct gateway *g);
/* Our own frames to the guest. */
void edge_send(struct gateway *g, uint8_t *frame, size_t n);
