/* Handles TCP connections with a hold (hold.h): the guest's bytes pass through the hold before
 * the stack gets them. */
#pragma once

#include "gateway/gateway.h"

/* Handles a segment of the guest that is not a SYN. After this call F may have been freed. */
void held_flow_from_guest(struct gateway *g, struct flow *f, const struct packet *p);
/* Continues all holds. Call this when the stack may have taken or acknowledged bytes. Must not
 * be called from inside a callback of the stack. */
void held_flows_go_on(struct gateway *g);
