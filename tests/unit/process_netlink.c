/* In a user and network namespace of its own: nothing here touches the machine's network. */
#include "process/netlink.h"
#include "t.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct netif netif = {
	.guest_mac = { 2, 0, 0, 0, 0, 2 },
	.gateway_mac = { 2, 0, 0, 0, 0, 1 },
	.guest_v4 = { 172, 20, 5, 2 },
	.gateway_v4 = { 172, 20, 5, 1 },
	.guest_v6 = { 0xfd, 0x42, [15] = 2 },
	.gateway_v6 = { 0xfd, 0x42, [15] = 1 },
};

static bool readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) > 0;
}

/* Sends one datagram through the default route; nobody answers. */
static void send_datagram(int family)
{
	struct sockaddr_in in4 = { .sin_family = AF_INET, .sin_port = htons(9) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(9) };
	int s = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ssize_t r;

	inet_pton(AF_INET, "198.51.100.1", &in4.sin_addr);
	inet_pton(AF_INET6, "2001:db8::1", &in6.sin6_addr);
	r = family == AF_INET ? sendto(s, "hi", 2, 0, (struct sockaddr *)&in4, sizeof(in4))
			      : sendto(s, "hi", 2, 0, (struct sockaddr *)&in6, sizeof(in6));
	T_INT(r, 2);
	close(s);
}

static void frame_has_our_addresses(int fd, unsigned type)
{
	uint8_t frame[2048];

	if (!readable(fd, 2000)) {
		T_FAIL("no frame came");
		return;
	}
	T_TRUE(read(fd, frame, sizeof(frame)) > 14);
	T_TRUE(memcmp(frame, netif.gateway_mac, 6) == 0);
	T_TRUE(memcmp(frame + 6, netif.guest_mac, 6) == 0);
	T_INT(frame[12] << 8 | frame[13], type);
}

static void link_works(int fd)
{
	T_TRUE(!readable(fd, 1500)); /* silent by itself */
	send_datagram(AF_INET);
	frame_has_our_addresses(fd, 0x0800);
	if (access("/proc/sys/net/ipv6", F_OK) == 0) {
		send_datagram(AF_INET6);
		frame_has_our_addresses(fd, 0x86dd);
	}
	T_TRUE(!readable(fd, 200));
}

static void a_veth_and_a_packet_socket(void)
{
	struct netlink_batch b = { 0 };
	long fd;

	netlink_add_veth(&b);
	netlink_add_peer(&b);
	T_INT(netlink_run(&b), 0);
	fd = netif_open_packet(false);
	T_TRUE(fd >= 0);
	b = (struct netlink_batch){ 0 };
	netlink_add_interface(&b, &netif);
	T_INT(netlink_run(&b), 0);
	link_works((int)fd);
	close((int)fd);
}

static void a_tap(void)
{
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	struct netlink_batch b = { 0 };

	if (fd < 0) {
		printf("# not run: /dev/net/tun cannot be opened\n");
		return;
	}
	T_INT(netif_make_tap(fd, false), 0);
	netlink_add_interface(&b, &netif);
	T_INT(netlink_run(&b), 0);
	link_works(fd);
	close(fd);
}

static void errors_come_back(void)
{
	struct netlink_batch b = { 0 };

	netlink_add_interface(&b, &netif); /* there is no such interface */
	T_TRUE(netlink_run(&b) < 0);
	for (unsigned i = 0; i < 40; i++)
		netlink_add_veth(&b);
	T_TRUE(b.full);
	T_TRUE(netlink_run(&b) < 0);
}

int main(void)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) {
		printf("1..0 # SKIP no user namespaces here\n");
		return 0;
	}
	T_RUN(errors_come_back);
	T_RUN(a_veth_and_a_packet_socket);
	if (unshare(CLONE_NEWNET) == 0)
		T_RUN(a_tap);
	return t_end();
}
