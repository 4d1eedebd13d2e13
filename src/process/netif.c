/* The functions of process/netlink.h that run between clone and exec, and the task of
 * process/netns.h. All of them make only system calls. */
#include "process/netlink.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/if.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/raw.h"
#include "process/netns.h"

#define ETHERTYPE_ALL 0x0300 /* ETH_P_ALL in network byte order */

/* Reads COUNT acknowledgements. Returns -errno if the reading fails. Otherwise returns the first
 * error of a request that must not fail, or 0. */
static long read_acks(int fd, uint32_t count)
{
	uint8_t buf[4096] __attribute__((aligned(4)));
	long failed = 0;

	while (count > 0) {
		long n = RAW6(SYS_recvfrom, fd, buf, sizeof(buf), 0, 0, 0);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? n : -EPIPE;
		for (long at = 0; n - at >= (long)(NLMSG_HDRLEN + sizeof(struct nlmsgerr));) {
			const struct nlmsghdr *h = (const struct nlmsghdr *)(buf + at);
			const struct nlmsgerr *e =
				(const struct nlmsgerr *)(buf + at + NLMSG_HDRLEN);

			if (h->nlmsg_type != NLMSG_ERROR || h->nlmsg_len < NLMSG_HDRLEN)
				return -EPROTO;
			if (e->error && !(h->nlmsg_seq & NETLINK_SEQ_OPTIONAL) && !failed)
				failed = e->error;
			count--;
			at += NLMSG_ALIGN(h->nlmsg_len);
		}
	}
	return failed;
}

long netlink_run(const struct netlink_batch *b)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	long fd, r;

	if (b->full)
		return -EMSGSIZE;
	fd = RAW3(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return fd;
	r = RAW6(SYS_sendto, fd, b->b, b->n, 0, &kernel, sizeof(kernel));
	r = r < 0 ? r : read_acks((int)fd, b->count);
	RAW1(SYS_close, fd);
	return r;
}

static long set_option(long fd, int option, int value)
{
	return RAW5(SYS_setsockopt, fd, SOL_PACKET, option, &value, sizeof(value));
}

/* Opens a packet socket on gw0, which the gateway reads and writes. If TRAINS is true, the socket
 * does not divide large segments, and puts a virtio header before each packet. Returns the
 * descriptor or -errno. */
static long open_packet(bool trains)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET,
				  .sll_protocol = ETHERTYPE_ALL,
				  .sll_ifindex = NETIF_PEER_INDEX };
	long fd, r;

	/* with protocol 0 the socket receives nothing before it is bound to the interface */
	fd = RAW3(SYS_socket, AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	r = set_option(fd, PACKET_IGNORE_OUTGOING, 1);
	r = r < 0 ? r : set_option(fd, PACKET_VNET_HDR, trains);
	r = r < 0 ? r : RAW3(SYS_bind, fd, &to, sizeof(to));
	if (r < 0) {
		RAW1(SYS_close, fd);
		return r;
	}
	return fd;
}

/* Makes the tap device eth0 in the network namespace in which TUN (/dev/net/tun) was opened.
 * Returns 0 or -errno. */
static long make_tap(int tun, bool trains)
{
	struct ifreq ifr = { .ifr_flags =
				     (short)(IFF_TAP | IFF_NO_PI | (trains ? IFF_VNET_HDR : 0)) };
	unsigned index = NETIF_INDEX;
	long r;

	for (unsigned i = 0; i < sizeof(NETIF_NAME); i++)
		ifr.ifr_name[i] = NETIF_NAME[i];
	r = RAW3(SYS_ioctl, tun, TUNSETIFINDEX, &index);
	r = r < 0 ? r : RAW3(SYS_ioctl, tun, TUNSETIFF, &ifr);
	if (r < 0 || !trains)
		return r;
	return RAW3(SYS_ioctl, tun, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6);
}

long netif_loopback(void)
{
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	long fd = RAW3(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	long r;

	if (fd < 0)
		return fd;
	r = RAW3(SYS_ioctl, fd, SIOCSIFFLAGS, &ifr);
	RAW1(SYS_close, fd);
	return r;
}

void netif_sysctl(const char *path, const char *text, size_t n)
{
	long fd = RAW4(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return;
	RAW3(SYS_write, fd, text, n);
	RAW1(SYS_close, fd);
}

/* Makes the network namespace and opens it as n->fd. Returns a number that is not negative, or
 * -errno. */
static long make_netns(struct netns *n)
{
	long r;

	n->failed = NETNS_MAKE;
	/* The task calls unshare(), because the parent would have to wait if clone() made the
	 * namespace. */
	r = RAW1(SYS_unshare, CLONE_NEWNET);
	if (r < 0)
		return r;
	n->failed = NETNS_OPEN;
	r = RAW4(SYS_openat, AT_FDCWD, "/proc/self/ns/net", O_RDONLY | O_CLOEXEC, 0);
	n->fd = (int)r;
	return r;
}

static long make_interface(struct netns *n)
{
	long r;

	n->failed = NETNS_DEVICE;
	r = RAW4(SYS_openat, AT_FDCWD, TUN_DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK, 0);
	n->link = (int)r;
	if (r < 0)
		return r;
	n->failed = NETNS_INTERFACE;
	r = make_tap(n->link, n->setup->trains);
	return r < 0 ? r : netlink_run(&n->setup->configure);
}

/* Brings lo up, and waits for the parent's order. If lo cannot be brought up, or if the order is
 * NETNS_GIVE_UP, does nothing more. Otherwise writes n->sysctl, and makes the interface if n->setup
 * is set. Returns 0 or -errno. */
static long furnish(struct netns *n)
{
	int order;
	long r;

	n->failed = NETNS_LOOPBACK;
	r = netif_loopback();
	while ((order = __atomic_load_n(&n->order, __ATOMIC_ACQUIRE)) == NETNS_WAIT)
		RAW4(SYS_futex, &n->order, FUTEX_WAIT_PRIVATE, NETNS_WAIT, NULL);
	if (r < 0 || order == NETNS_GIVE_UP)
		return r;
	for (unsigned i = 0; i < NETNS_SYSCTLS; i++)
		netif_sysctl(n->sysctl[i].path, n->sysctl[i].text, n->sysctl[i].n);
	return n->setup ? make_interface(n) : 0;
}

void netns_task(void *arg)
{
	struct netns *n = arg;
	long r;

	/* this task may wait for an order, so it must end with its parent */
	RAW5(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (RAW0(SYS_getppid) != n->parent)
		raw_exit(1);
	r = make_netns(n);
	/* the result of furnish() replaces ECHILD below; if this task is killed before that, the
	 * parent sees ECHILD */
	n->err = r < 0 ? (int)-r : ECHILD;
	__atomic_store_n(&n->coming, 0, __ATOMIC_RELEASE);
	RAW3(SYS_futex, &n->coming, FUTEX_WAKE, 1);
	if (r >= 0) {
		r = furnish(n);
		n->err = r < 0 ? (int)-r : 0;
	}
	raw_exit(0);
}

long netif_send_descriptor(int to, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	char byte = 0;
	struct iovec v = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &v,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };

	*(int *)CMSG_DATA(&control.head) = fd;
	return RAW3(SYS_sendmsg, to, &msg, MSG_NOSIGNAL);
}

long netif_run_child(const struct netif_setup *setup)
{
	long r = netlink_run(&setup->make), fd;

	if (r < 0)
		return r;
	fd = open_packet(setup->trains);
	if (fd < 0)
		return fd;
	r = netlink_run(&setup->configure);
	r = r < 0 ? r : netif_send_descriptor(setup->report, (int)fd);
	RAW1(SYS_close, fd);
	return r < 0 ? r : 0;
}
