/*
 * The user-space TCP/IP stack: libslirp, behind the few calls that we use.
 *
 * It turns frames of the guest into sockets of ours, and back. It has no policy, and we trust it with
 * nothing: each frame that it gets was parsed and judged before, and each frame that it makes is judged
 * again. It accepts a connection of the guest only after the host's connect() succeeded.
 */
#pragma once

#include "base/err.h"
#include "gateway/packet.h"
#include "gateway/pollset.h"

struct stack;

#define STACK_MTU_PLAIN 1500u
#define STACK_MTU_TRAIN 65520u /* for a link that carries large segments whole */

/* Gets each frame that the stack makes, and may change it in place. It must not call the stack. */
typedef void stack_output_fn(void *arg, uint8_t *frame, size_t n);

struct stack *stack_new(const struct lease *lease, bool trains, stack_output_fn *to_guest,
			void *arg);
void stack_free(struct stack *s);

void stack_input(struct stack *s, const uint8_t *frame, size_t n);
/* The socket that the last input opened, or -1. */
int stack_dialled(const struct stack *s);
/* Adds the stack's sockets and deadlines to SET; with PAUSED only the deadlines. */
void stack_fill(struct stack *s, struct pollset *set, uint64_t now_ns, bool paused);
void stack_poll(struct stack *s, const struct pollset *set);

/* The number of sockets that are open for the guest, without listeners. */
unsigned stack_sockets(const struct stack *s);
/* True if the kernel lets us send echo requests (net.ipv4.ping_group_range). */
bool stack_can_ping(void);

struct published {
	struct addr bind;
	uint16_t host_port; /* 0 on input: the kernel chooses one; then the chosen one */
	uint16_t guest_port;
	bool udp;
};
/* Starts listening. ERR_BUSY: the port is taken, and the message names it. */
MUST_USE int stack_publish(struct stack *s, struct published *p, struct err *e);
