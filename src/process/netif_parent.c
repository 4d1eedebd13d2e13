/* The parent's half of a sandbox's link. */
#include "process/netlink.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

#define TUN_DEVICE "/dev/net/tun"

void netif_job_init(struct netif_job *job, const struct netif *n, bool trains, int report)
{
	*job = (struct netif_job){ .trains = trains, .report = report };
	netlink_add_veth(&job->make);
	netlink_add_peer(&job->make);
	netlink_add_interface(&job->configure, n);
}

int netif_receive(int from, int *ret_link, struct err *e)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	char byte;
	struct iovec v = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &v,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	ssize_t n;

	do
		n = recvmsg(from, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_sys(e, errno, "receive the sandbox's link");
	if (n == 0 || msg.msg_controllen < CMSG_LEN(sizeof(int)) ||
	    control.head.cmsg_type != SCM_RIGHTS)
		return err_set(e, ERR_PROTOCOL, "the sandbox's link was not sent");
	*ret_link = *(int *)CMSG_DATA(&control.head);
	return 0;
}

/* With the child's network namespace as the current one. */
static int make_tap(const struct netif_job *job, int *ret_link, struct err *e)
{
	AUTO_FD tun = open(TUN_DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	long r;

	if (tun < 0) {
		err_sys(e, errno, "open '%s'", TUN_DEVICE);
		e->code = ERR_DENIED;
		return err_hint(e, "load the module: modprobe tun");
	}
	r = netif_make_tap(tun, job->trains);
	r = r < 0 ? r : netlink_run(&job->configure);
	if (r < 0)
		return err_sys(e, (int)-r, "set up the sandbox's interface");
	*ret_link = fd_take(&tun);
	return 0;
}

int netif_attach_tap(int pidfd, const struct netif_job *job, int *ret_link, struct err *e)
{
	AUTO_FD home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	int r;

	if (home < 0 || setns(pidfd, CLONE_NEWNET) < 0)
		return err_sys(e, errno, "enter the sandbox's network namespace");
	r = make_tap(job, ret_link, e);
	if (setns(home, CLONE_NEWNET) < 0)
		abort(); /* everything after would act on the wrong network */
	return r;
}
