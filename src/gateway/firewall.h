/*
 * The edge: every frame between the guest and the rest passes here, in both directions, and is let
 * through only as part of something policy allowed.
 */
#pragma once

#include "gateway/gateway.h"

void firewall_from_guest(struct gateway *g, uint8_t *frame, size_t n);
/* What the stack made for the guest; the frame is changed in place. */
void firewall_from_stack(struct gateway *g, uint8_t *frame, size_t n);
/* The host may have new addresses: ends what leads to one of them. */
void firewall_recheck(struct gateway *g);
/* Hands the stack what waits for it, resets and bytes of gates; never from inside its callbacks. */
void firewall_flush(struct gateway *g);
/* The two ends of a segment in the guest's name (to the stack), or in that of its peer. */
struct packet_ends firewall_ends(const struct gateway *g, const struct flow_key *k, bool to_stack);
/* Ends a connection here and inside the stack, where SEQ and ACK are next, unless a gate knows better. */
void firewall_end_flow(struct gateway *g, struct flow *f, uint32_t seq, uint32_t ack);
/* Our own frames to the guest. */
void firewall_send(struct gateway *g, uint8_t *frame, size_t n);
