#include "gateway/stack.h"

#include <errno.h>
#include <malloc.h>
#include <netinet/in.h>
#include <slirp/libslirp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define LISTEN_BACKLOG 128 /* libslirp's own value is 1, with which parallel connections get lost */
#define PUBLISHED_MAX 256u
#define HEAP_KEPT_BYTES (2 << 20) /* the heap keeps this much free memory */
/* Blocks of this size and more come from mmap(). libslirp's blocks are smaller, so they come from
 * the heap. */
#define HEAP_MMAP_MIN_BYTES (1 << 20)

struct stack {
	Slirp *slirp;
	struct lease lease;
	stack_output_fn *to_guest;
	void *arg;
	struct pollset *filling; /* only set during stack_fill() */
	const struct pollset *polled;
	unsigned n_sockets, n_listeners;
	int listener[PUBLISHED_MAX];
	int dialled;
	int found; /* the listener that stack_publish() looks for */
	uint8_t frame[FRAME_MAX_BYTES];
};

/* --- what libslirp calls ---------------------------------------------------------------------- */

static ssize_t on_send(const void *buf, size_t n, void *opaque)
{
	struct stack *s = opaque;

	if (n <= sizeof(s->frame)) {
		memcpy(s->frame, buf, n);
		s->to_guest(s->arg, s->frame, n);
	}
	return (ssize_t)n;
}

static void on_guest_error(const char *msg, void *opaque)
{
}

static int64_t on_clock(void *opaque)
{
	return (int64_t)clock_mono_ns();
}

/* Makes no timer, because libslirp's only timer sends router advertisements, which we do not
 * want. */
static void *on_timer_new(SlirpTimerId id, void *cb_opaque, void *opaque)
{
	static char none;

	return &none;
}

static void on_timer_free(void *timer, void *opaque)
{
}

static void on_timer_mod(void *timer, int64_t expire_ms, void *opaque)
{
}

static void on_register(int fd, void *opaque)
{
	struct stack *s = opaque;

	s->n_sockets += fd >= 0;
	s->dialled = fd;
}

static void on_unregister(int fd, void *opaque)
{
	struct stack *s = opaque;

	if (fd >= 0 && s->n_sockets > 0)
		s->n_sockets--;
}

static void on_notify(void *opaque)
{
}

static const SlirpCb callbacks = {
	.send_packet = on_send,
	.guest_error = on_guest_error,
	.clock_get_ns = on_clock,
	.timer_new_opaque = on_timer_new,
	.timer_free = on_timer_free,
	.timer_mod = on_timer_mod,
	.register_poll_fd = on_register,
	.unregister_poll_fd = on_unregister,
	.notify = on_notify,
};

/* --- life ------------------------------------------------------------------------------------- */

static struct in_addr in4(const struct addr *a)
{
	struct in_addr r;

	memcpy(&r, a->b, sizeof(r));
	return r;
}

static struct in6_addr in6(const struct addr *a)
{
	struct in6_addr r;

	memcpy(&r, a->b, sizeof(r));
	return r;
}

/* libslirp learns the guest's address from ARP and neighbour messages. The firewall does not pass
 * such messages of the guest to libslirp. So this function makes one message of each kind. */
static void introduce_guest(struct stack *s)
{
	const struct lease *l = &s->lease;
	struct packet_ends ends = { .src_mac = l->guest_mac,
				    .dst_mac = l->gateway_mac,
				    .src = l->guest_v6,
				    .dst = l->gateway_v6 };
	uint8_t frame[REPLY_MAX_BYTES];

	stack_input(s, frame,
		    packet_make_arp(frame, 1, l->guest_mac, &l->guest_v4, l->gateway_mac,
				    &l->guest_v4));
	stack_input(s, frame, packet_make_neighbour(frame, &ends));
}

/* Makes the heap keep free memory. Each connection of the stack has two buffers of 128 KiB. If
 * glibc gave them back to the kernel at each close, a short connection would take up to a quarter
 * longer. Whether glibc does this depends on what else lies at the end of the heap. */
static void keep_heap(void)
{
	IGNORE(mallopt(M_TRIM_THRESHOLD, HEAP_KEPT_BYTES));
	IGNORE(mallopt(M_MMAP_THRESHOLD, HEAP_MMAP_MIN_BYTES));
}

struct stack *stack_new(const struct lease *lease, bool trains, stack_output_fn *to_guest,
			void *arg)
{
	struct stack *s = xcalloc(1, sizeof(*s));
	struct addr unused_v4 = lease->gateway_v4, unused_v6 = lease->gateway_v6,
		    net_v6 = lease->gateway_v6;
	SlirpConfig c = { .version = 4 };
	uint8_t mask[4] = { 255, 255, 255, 252 };

	keep_heap();
	s->lease = *lease;
	s->to_guest = to_guest;
	s->arg = arg;
	unused_v4.b[3] |= 3; /* an address for libslirp's own resolver, which we do not use */
	unused_v6.b[15] = 3;
	memset(net_v6.b + 8, 0, 8);
	c.in_enabled = c.in6_enabled = true;
	memcpy(&c.vnetmask, mask, sizeof(mask));
	c.vhost = in4(&lease->gateway_v4);
	c.vnetwork.s_addr = c.vhost.s_addr & c.vnetmask.s_addr;
	c.vdhcp_start = in4(&lease->guest_v4);
	c.vnameserver = in4(&unused_v4);
	c.vprefix_addr6 = in6(&net_v6);
	c.vprefix_len = LEASE_V6_LEN;
	c.vhost6 = in6(&lease->gateway_v6);
	c.vnameserver6 = in6(&unused_v6);
	c.if_mtu = c.if_mru = trains ? STACK_MTU_TRAIN : STACK_MTU_PLAIN;
	c.disable_dns = c.disable_dhcp = true;
	s->slirp = slirp_new(&c, &callbacks, s);
	if (!s->slirp)
		abort(); /* the arguments were wrong, which is a bug of ours */
	introduce_guest(s);
	return s;
}

void stack_free(struct stack *s)
{
	if (!s)
		return;
	slirp_cleanup(s->slirp);
	free(s);
}

void stack_input(struct stack *s, const uint8_t *frame, size_t n)
{
	s->dialled = -1;
	slirp_input(s->slirp, frame, (int)n);
}

int stack_dialled(const struct stack *s)
{
	return s->dialled;
}

unsigned stack_sockets(const struct stack *s)
{
	return s->n_sockets;
}

bool stack_can_ping(void)
{
	AUTO_FD fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_ICMP);

	return fd >= 0;
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* Translates libslirp's event bits: PRI and OUT have other values than in poll(). */
static short to_poll(int events)
{
	return (short)((events & SLIRP_POLL_IN ? POLLIN : 0) |
		       (events & SLIRP_POLL_OUT ? POLLOUT : 0) |
		       (events & SLIRP_POLL_PRI ? POLLPRI : 0) |
		       (events & SLIRP_POLL_ERR ? POLLERR : 0) |
		       (events & SLIRP_POLL_HUP ? POLLHUP : 0));
}

static int from_poll(short events)
{
	return (events & POLLIN ? SLIRP_POLL_IN : 0) | (events & POLLOUT ? SLIRP_POLL_OUT : 0) |
	       (events & POLLPRI ? SLIRP_POLL_PRI : 0) | (events & POLLERR ? SLIRP_POLL_ERR : 0) |
	       (events & POLLHUP ? SLIRP_POLL_HUP : 0);
}

static int on_add_poll(int fd, int events, void *opaque)
{
	struct stack *s = opaque;

	if (!s->filling)
		return -1;
	return (int)pollset_add(s->filling, fd, to_poll(events));
}

static int on_get_revents(int index, void *opaque)
{
	struct stack *s = opaque;

	return index < 0 || (size_t)index >= s->polled->n ? 0
							  : from_poll(s->polled->fd[index].revents);
}

void stack_fill(struct stack *s, struct pollset *set, uint64_t now_ns, bool paused)
{
	uint32_t timeout_ms = UINT32_MAX;

	s->filling = paused ? NULL : set;
	slirp_pollfds_fill(s->slirp, &timeout_ms, on_add_poll, s);
	s->filling = NULL;
	/* libslirp asks to be called every second even if it has no socket; we ignore this */
	if (s->n_sockets > 0)
		pollset_wake_at(set, now_ns + timeout_ms * NS_PER_MS);
}

void stack_poll(struct stack *s, const struct pollset *set)
{
	s->polled = set;
	slirp_pollfds_poll(s->slirp, 0, on_get_revents, s);
	s->polled = NULL;
}

/* --- published ports -------------------------------------------------------------------------- */

static socklen_t to_sockaddr(const struct addr *a, uint16_t port, struct sockaddr_storage *ss)
{
	memset(ss, 0, sizeof(*ss));
	if (a->family == ADDR_V4) {
		struct sockaddr_in *in = (struct sockaddr_in *)ss;

		*in = (struct sockaddr_in){ .sin_family = AF_INET,
					    .sin_port = htons(port),
					    .sin_addr = in4(a) };
		return sizeof(*in);
	}
	struct sockaddr_in6 *in = (struct sockaddr_in6 *)ss;

	*in = (struct sockaddr_in6){ .sin6_family = AF_INET6,
				     .sin6_port = htons(port),
				     .sin6_addr = in6(a) };
	return sizeof(*in);
}

/* libslirp calls this for each socket that it waits for. The socket that is not in our list is the
 * new listener. */
static int on_find_listener(int fd, int events, void *opaque)
{
	struct stack *s = opaque;

	for (unsigned i = 0; i < s->n_listeners; i++)
		if (s->listener[i] == fd)
			return -1;
	s->found = fd;
	return -1;
}

/* Finds the descriptor on which libslirp listens, because libslirp does not return this descriptor.
 * Ports are published before the guest's first frame. Until then all sockets of libslirp are
 * listeners. */
static int find_listener(struct stack *s)
{
	uint32_t timeout_ms = UINT32_MAX;

	s->found = -1;
	slirp_pollfds_fill(s->slirp, &timeout_ms, on_find_listener, s);
	return s->found;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage ss;
	socklen_t n = sizeof(ss);

	if (getsockname(fd, (struct sockaddr *)&ss, &n) < 0)
		return 0;
	return ntohs(ss.ss_family == AF_INET ? ((struct sockaddr_in *)&ss)->sin_port
					     : ((struct sockaddr_in6 *)&ss)->sin6_port);
}

int stack_publish(struct stack *s, struct published *p, struct err *e)
{
	const struct addr *guest =
		p->bind.family == ADDR_V4 ? &s->lease.guest_v4 : &s->lease.guest_v6;
	struct sockaddr_storage host_ss, guest_ss;
	socklen_t host_n = to_sockaddr(&p->bind, p->host_port, &host_ss);
	socklen_t guest_n = to_sockaddr(guest, p->guest_port, &guest_ss);
	int flags = (p->udp ? SLIRP_HOSTFWD_UDP : 0) | SLIRP_HOSTFWD_V6ONLY;
	char text[ADDR_TEXT_BYTES];
	int fd;

	addr_format(&p->bind, text);
	if (s->n_listeners >= PUBLISHED_MAX)
		return err_set(e, ERR_LIMIT, "more than %u published ports", PUBLISHED_MAX);
	if (slirp_add_hostxfwd(s->slirp, (struct sockaddr *)&host_ss, host_n,
			       (struct sockaddr *)&guest_ss, guest_n, flags) < 0) {
		int errnum = errno;

		err_sys(e, errnum, "publish port %u/%s on %s", p->host_port, p->udp ? "udp" : "tcp",
			text);
		if (errnum == EADDRINUSE)
			e->code = ERR_BUSY;
		return -1;
	}
	fd = find_listener(s);
	if (fd < 0)
		return err_set(e, ERR_SYSTEM, "cannot find the socket of published port %u",
			       p->host_port);
	s->listener[s->n_listeners++] = fd;
	if (!p->udp)
		/* the socket listens already; this makes its queue longer */
		IGNORE(listen(fd, LISTEN_BACKLOG));
	p->host_port = port_of(fd);
	return 0;
}
