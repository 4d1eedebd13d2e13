/* Connections whose bytes pass a gate (gate.h) on their way to the stack. */
#pragma once

#include "gateway/gateway.h"

/* A segment of the guest, not a SYN. F may be gone afterwards. */
void held_flow_from_guest(struct gateway *g, struct flow *f, const struct packet *p);
/* The stack has had time to take or acknowledge something; never from inside its callbacks. */
void held_flows_go_on(struct gateway *g);
