#include "box/socket_owner.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define ANSWER_BYTES 4096

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 body;
};

int socket_owner_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	return fd < 0 ? -errno : fd;
}

static void put_address(const struct sockaddr_storage *a, __be32 out[4], __be16 *ret_port)
{
	if (a->ss_family == AF_INET6) {
		const struct sockaddr_in6 *six = (const void *)a;

		memcpy(out, &six->sin6_addr, 16);
		*ret_port = six->sin6_port;
	} else {
		const struct sockaddr_in *four = (const void *)a;

		out[0] = four->sin_addr.s_addr;
		*ret_port = four->sin_port;
	}
}

static bool is_mapped(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET6 &&
	       IN6_IS_ADDR_V4MAPPED(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

static void unmap(struct sockaddr_storage *a)
{
	const struct sockaddr_in6 six = *(const struct sockaddr_in6 *)a;
	struct sockaddr_in *four = (void *)a;

	if (!is_mapped(a))
		return;
	*four = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = six.sin6_port };
	memcpy(&four->sin_addr, (const char *)&six.sin6_addr + 12, 4);
}

static bool ask(int diag, const struct question *q, struct inet_diag_msg *ret)
{
	_Alignas(struct nlmsghdr) char answer[ANSWER_BYTES];
	const struct nlmsghdr *head = (const void *)answer;
	ssize_t n;

	if (send(diag, q, sizeof(*q), 0) != (ssize_t)sizeof(*q))
		return false;
	/* the kernel queues the answer before send() returns */
	n = recv(diag, answer, sizeof(answer), MSG_DONTWAIT);
	if (n < 0 || !NLMSG_OK(head, (size_t)n) || head->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    head->nlmsg_len < NLMSG_LENGTH(sizeof(*ret)) || head->nlmsg_seq != q->head.nlmsg_seq)
		return false;
	memcpy(ret, NLMSG_DATA(head), sizeof(*ret));
	return true;
}

bool socket_owner_is(int diag, int fd, unsigned uid)
{
	static unsigned sequence;
	struct sockaddr_storage ours = { 0 }, theirs = { 0 };
	socklen_t n = sizeof(ours), m = sizeof(theirs);
	struct inet_diag_msg found;
	struct question q = {
		.head = { .nlmsg_len = sizeof(q),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST,
			  .nlmsg_seq = ++sequence },
		.body = { .sdiag_protocol = IPPROTO_TCP,
			  .idiag_states = ~0u,
			  .id = { .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
	};

	if (getsockname(fd, (struct sockaddr *)&ours, &n) < 0 ||
	    getpeername(fd, (struct sockaddr *)&theirs, &m) < 0)
		return false;
	/* an IPv4 peer of our IPv6 socket may be listed as IPv6 or as IPv4: ask for both forms */
	for (int form = 0; form < 2; form++) {
		q.body.sdiag_family = (unsigned char)ours.ss_family;
		/* ask for the peer's own socket: its source is our destination */
		put_address(&theirs, q.body.id.idiag_src, &q.body.id.idiag_sport);
		put_address(&ours, q.body.id.idiag_dst, &q.body.id.idiag_dport);
		q.head.nlmsg_seq = ++sequence;
		if (ask(diag, &q, &found) && found.idiag_state == TCP_ESTABLISHED)
			return found.idiag_inode != 0 && found.idiag_uid == uid;
		if (!is_mapped(&ours) || !is_mapped(&theirs))
			return false;
		unmap(&ours);
		unmap(&theirs);
	}
	return false;
}
