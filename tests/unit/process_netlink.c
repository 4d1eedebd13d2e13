/* Tests how a sandbox's link is made. All links are in new network namespaces, so the tests do not
 * touch the machine's network. */
#include "base/fdpass.h"
#include "process/netns.h"
#include "t.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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

/* Sends one datagram through the default route. No host answers. */
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
	T_TRUE(!readable(fd, 1500)); /* the interface sends nothing by itself */
	send_datagram(AF_INET);
	frame_has_our_addresses(fd, 0x0800);
	if (access("/proc/sys/net/ipv6", F_OK) == 0) {
		send_datagram(AF_INET6);
		frame_has_our_addresses(fd, 0x86dd);
	}
	T_TRUE(!readable(fd, 200));
}

/* Starts a child in new user and network namespaces, as the engine does. If SETUP is not NULL, the
 * child makes the link in them. Then the child sleeps until end_child() kills it. */
static pid_t child_in_namespaces(const struct netif_setup *setup, int *ret_pidfd)
{
	int ready[2];
	char byte = 1;
	pid_t pid;

	T_INT(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		long r = unshare(CLONE_NEWUSER | CLONE_NEWNET);

		if (r == 0 && setup)
			r = netif_run_child(setup);
		byte = r == 0;
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	T_INT(read(ready[0], &byte, 1), 1);
	T_INT(byte, 1);
	close(ready[0]);
	close(ready[1]);
	*ret_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return pid;
}

static void end_child(pid_t pid, int pidfd)
{
	close(pidfd);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Runs link_works() in the child's namespaces. */
static void check_from_inside(int pidfd, int link)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		t_bad = false;
		T_INT(setns(pidfd, CLONE_NEWUSER), 0);
		T_INT(setns(pidfd, CLONE_NEWNET), 0);
		link_works(link);
		fflush(stdout);
		_exit(t_bad);
	}
	T_INT(waitpid(pid, &status, 0), pid);
	T_INT(status, 0);
}

static void a_veth_made_by_the_child(void)
{
	struct netif_setup setup;
	int pair[2], pidfd, link = -1;
	unsigned n_fds = 0;
	pid_t pid;
	char byte;

	T_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	netif_setup_init(&setup, &netif, false, pair[1]);
	pid = child_in_namespaces(&setup, &pidfd);
	T_INT(fdpass_recv(pair[0], &byte, 1, &link, 1, &n_fds), 1);
	T_INT(n_fds, 1);
	check_from_inside(pidfd, link);
	close(link);
	close(pair[0]);
	close(pair[1]);
	end_child(pid, pidfd);
}

static void a_namespace_made_ahead(void)
{
	static struct netns ns;
	struct netif_setup setup;
	struct err e = { 0 };
	pid_t pid;
	int status;

	if (geteuid() != 0 || access("/dev/net/tun", R_OK | W_OK) < 0) {
		printf("# not run: needs root and /dev/net/tun\n");
		return;
	}
	netif_setup_init(&setup, &netif, false, -1);
	if (netns_begin(&ns, &e) < 0)
		T_FAIL("%s", e.msg);
	netns_order(&ns, &setup, 5, 6);
	if (netns_finish(&ns, &e) < 0)
		T_FAIL("%s", e.msg);
	pid = fork();
	if (pid == 0) {
		char text[16] = "";
		int fd;

		t_bad = false;
		T_INT(netns_enter(&ns, &e), 0);
		link_works(ns.link);
		fd = open("/proc/sys/net/ipv4/ping_group_range", O_RDONLY | O_CLOEXEC);
		T_TRUE(read(fd, text, sizeof(text) - 1) > 0);
		T_STR(text, "5\t6\n");
		fflush(stdout);
		_exit(t_bad);
	}
	T_INT(waitpid(pid, &status, 0), pid);
	T_INT(status, 0);
	netns_done(&ns);
	T_INT(ns.fd, -1);
}

/* If the caller never asks for an interface in the namespace, the namespace and the task that made
 * it must still be freed. */
static void an_unused_namespace_is_freed(void)
{
	static struct netns ns;
	struct err e = { 0 };

	if (geteuid() != 0)
		return;
	if (netns_begin(&ns, &e) < 0 || netns_enter(&ns, &e) < 0)
		T_FAIL("%s", e.msg);
	netns_leave(&ns);
	netns_done(&ns);
	T_INT(ns.fd, -1);
	T_INT(waitpid(-1, NULL, WNOHANG), -1);
	T_INT(errno, ECHILD);
}

/* A child of this process starts the task, and ends before it asks for an interface. The task
 * shares the child's descriptors, so the pipe closes only when the task has ended, too. */
static void a_task_does_not_outlive_us(void)
{
	static struct netns ns;
	struct err e = { 0 };
	int alive[2], status;
	char byte;
	pid_t pid;

	if (geteuid() != 0)
		return;
	T_INT(pipe2(alive, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		if (netns_begin(&ns, &e) < 0 || netns_enter(&ns, &e) < 0)
			_exit(1);
		_exit(0);
	}
	close(alive[1]);
	T_INT(waitpid(pid, &status, 0), pid);
	T_INT(status, 0);
	T_INT(read(alive[0], &byte, 1), 0);
	close(alive[0]);
}

/* The task is killed, perhaps for lack of memory. The caller must not wait for ever, and gets an
 * error. */
static void a_task_that_is_killed(void)
{
	static struct netns ns;
	struct err e = { 0 };

	if (geteuid() != 0)
		return;
	if (netns_begin(&ns, &e) < 0)
		T_FAIL("%s", e.msg);
	kill(ns.pid, SIGKILL);
	if (netns_enter(&ns, &e) == 0) /* the task made the namespace before the signal came */
		netns_leave(&ns);
	else
		T_INT(e.sys, ECHILD);
	netns_done(&ns);
}

static void a_task_that_is_killed_half_way(void)
{
	static struct netns ns;
	struct err e = { 0 };

	if (geteuid() != 0)
		return;
	if (netns_begin(&ns, &e) < 0 || netns_enter(&ns, &e) < 0)
		T_FAIL("%s", e.msg);
	netns_leave(&ns);
	kill(ns.pid, SIGKILL); /* at this time the task waits for a request */
	T_INT(netns_finish(&ns, &e), -1);
	T_INT(e.sys, ECHILD);
	netns_done(&ns);
}

static void errors_come_back(void)
{
	struct netlink_batch b = { 0 };
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		t_bad = false;
		T_INT(unshare(CLONE_NEWUSER | CLONE_NEWNET), 0);
		netlink_add_interface(&b, &netif); /* there is no such interface */
		T_TRUE(netlink_run(&b) < 0);
		for (unsigned i = 0; i < 40; i++)
			netlink_add_veth(&b);
		T_TRUE(b.full);
		T_TRUE(netlink_run(&b) < 0);
		fflush(stdout);
		_exit(t_bad);
	}
	T_INT(waitpid(pid, &status, 0), pid);
	T_INT(status, 0);
}

static bool namespaces_work(void)
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0);
	return waitpid(pid, &status, 0) == pid && status == 0;
}

int main(void)
{
	if (!namespaces_work()) {
		printf("1..0 # SKIP no user namespaces here\n");
		return 0;
	}
	T_RUN(errors_come_back);
	T_RUN(a_veth_made_by_the_child);
	T_RUN(a_namespace_made_ahead);
	T_RUN(an_unused_namespace_is_freed);
	T_RUN(a_task_does_not_outlive_us);
	T_RUN(a_task_that_is_killed);
	T_RUN(a_task_that_is_killed_half_way);
	return t_end();
}
