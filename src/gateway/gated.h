/* Connections whose bytes pass a gate (gate.h) on their way to the stack. */
#pragma once

#include "gateway/gateway.h"

/* A segment of the guest, not a SYN. F may be gone afterwards. */
void gated_from_guest(struct gateway *g, struct flow *f, const struct packet *p);
/* The stack has had time to take or acknowledge something; never from inside its callbacks. */
void gated_go_on(struct gateway *g);
