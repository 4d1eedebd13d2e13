/* TCP connections whose bytes pass through a hold (hold.h) on their way to the stack. */
#pragma once

#include "gateway/gateway.h"

/* Handles a segment of the guest that is not a SYN. F may be freed. */
void held_flow_from_guest(struct gateway *g, struct flow *f, const struct packet *p);
/* Continues all holds after the stack may have taken or acknowledged something. Must not be called
 * from inside a callback of the stack. */
void held_flows_go_on(struct gateway *g);
