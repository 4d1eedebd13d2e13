/*
 * The user-space TCP/IP stack: the few functions of libslirp that we use.
 *
 * The stack translates between frames of the guest and sockets of the gateway. It knows nothing of
 * the policy. The firewall does not trust the stack, and judges each frame that the stack gets or
 * makes. The stack accepts a connection of the guest only after the host's connect() succeeded.
 */
#pragma once

#include "base/err.h"
#include "gateway/packet.h"
#include "gateway/pollset.h"

struct stack;

#define STACK_MTU_PLAIN 1500u
/* the MTU of a link that takes a large TCP segment (a train) as one frame */
#define STACK_MTU_TRAIN 65520u

/* A callback that gets each frame that the stack makes. It may change the frame in place, but must
 * not call the stack. */
typedef void stack_output_fn(void *arg, uint8_t *frame, size_t n);

struct stack *stack_new(const struct lease *lease, bool trains, stack_output_fn *to_guest,
			void *arg);
void stack_free(struct stack *s);

void stack_input(struct stack *s, const uint8_t *frame, size_t n);
/* Returns the socket that the last stack_input() opened, or -1. */
int stack_dialled(const struct stack *s);
/* Adds the stack's sockets and deadlines to SET. If PAUSED is true, adds only the deadlines. */
void stack_fill(struct stack *s, struct pollset *set, uint64_t now_ns, bool paused);
void stack_poll(struct stack *s, const struct pollset *set);

/* Returns the number of sockets that are open for the guest, without listeners. */
unsigned stack_sockets(const struct stack *s);
/* Returns true if the kernel lets us send echo requests (net.ipv4.ping_group_range). */
bool stack_can_ping(void);

struct published {
	struct addr bind;
	/* 0: the kernel chooses a port, and stack_publish() stores the port here */
	uint16_t host_port;
	uint16_t guest_port;
	bool udp;
};
/* Starts listening. Fails with ERR_BUSY if the port is in use, and the message names the port. */
MUST_USE int stack_publish(struct stack *s, struct published *p, struct err *e);
