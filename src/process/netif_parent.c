/* The parent's half of a sandbox's link. */
#include "process/netlink.h"

#include <errno.h>
#include <sys/socket.h>

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
