/*
 * The firewall sees each frame that comes from the guest or goes to the guest. It lets a TCP
 * segment or a UDP datagram through only if the frame belongs to a flow that the policy allowed. It
 * answers ARP, neighbour messages and port 53 itself, and judges each ping.
 */
#pragma once

#include "gateway/gateway.h"

void firewall_from_guest(struct gateway *g, uint8_t *frame, size_t n);
/* Judges a frame that the stack made for the guest. Changes the frame in place. */
void firewall_from_stack(struct gateway *g, uint8_t *frame, size_t n);
/* Tells the guest which connections the host could not make for it. Call this before
 * stack_poll(). */
void firewall_failed_dials(struct gateway *g);
/* Call this when the host has a new address. Ends the flows that the policy no longer allows,
 * because they may lead to the new address. Leaves open TCP connections to the kernel, which resets
 * them. */
void firewall_recheck(struct gateway *g);
/* Gives the stack all resets and all held bytes (hold.h) that the firewall has collected for the
 * stack. Must not be called from inside a callback of the stack. */
void firewall_flush(struct gateway *g);
/* Returns the source and destination of a segment. If TO_STACK is true, the segment goes from the
 * guest to its peer; otherwise it goes from the peer to the guest. */
struct packet_ends firewall_ends(const struct gateway *g, const struct flow_key *k, bool to_stack);
/* Ends a connection in our table and in the stack. SEQ and ACK are the connection's next sequence
 * and acknowledgement numbers. If the flow has a hold, the numbers of the hold are used instead. */
void firewall_end_flow(struct gateway *g, struct flow *f, uint32_t seq, uint32_t ack);
/* Sends the guest a frame that we made. */
void firewall_send(struct gateway *g, uint8_t *frame, size_t n);
