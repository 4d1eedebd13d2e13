/*
 * The user-space TCP/IP stack: libslirp, behind the few calls we use of it.
 *
 * It turns frames of the guest into sockets of ours and back. It has no policy and is trusted with
 * nothing: every frame it is given was parsed and judged before, every frame it makes is judged
 * again on the way out. A connection is accepted towards the guest only after the host's connect()
 * succeeded (tcp_input keeps the SYN until then).
 */
#pragma once

#include "base/err.h"
#include "gateway/packet.h"
#include "gateway/pollset.h"

struct stack;

#define STACK_MTU_PLAIN 1500u
#define STACK_MTU_TRAIN 65520u /* where the link carries large segments whole */

/* TO_GUEST gets every frame the stack makes; the frame may be changed in place. It must not call
 * back into the stack. */
typedef void stack_output_fn(void *arg, uint8_t *frame, size_t n);

struct stack *stack_new(const struct lease *lease, bool trains, stack_output_fn *to_guest,
			void *arg);
void stack_free(struct stack *s);

void stack_input(struct stack *s, const uint8_t *frame, size_t n);
/* The socket that the last input opened, or -1. */
int stack_dialled(const struct stack *s);
/* Adds the stack's sockets and deadlines; with PAUSED only the deadlines. */
void stack_fill(struct stack *s, struct pollset *set, uint64_t now_ns, bool paused);
void stack_poll(struct stack *s, const struct pollset *set);

/* Sockets open for the guest, listeners not counted. */
unsigned stack_sockets(const struct stack *s);
/* True when the kernel lets us send echo requests at all (net.ipv4.ping_group_range). */
bool stack_can_ping(void);

struct published {
	struct addr bind;
	uint16_t host_port; /* 0: any; becomes the real one */
	uint16_t guest_port;
	bool udp;
};
/* Starts listening. ERR_BUSY names the port when it is taken. */
MUST_USE int stack_publish(struct stack *s, struct published *p, struct err *e);
