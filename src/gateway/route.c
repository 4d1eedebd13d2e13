#include "gateway/route.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

#define ANSWER_BYTES 4096 /* enough for one route: the kernel's answers have about 200 bytes */
#define NEWS_BYTES 16384
/* the most messages that one turn of the loop reads: on some hosts the routes change all the
 * time */
#define NEWS_PER_TURN 64u

static int open_socket(uint32_t groups)
{
	struct sockaddr_nl here = { .nl_family = AF_NETLINK, .nl_groups = groups };
	AUTO_FD fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd < 0 || bind(fd, (struct sockaddr *)&here, sizeof(here)) < 0)
		return -1;
	return fd_take(&fd);
}

int route_open(struct route *r, struct err *e)
{
	/* listen for changes of addresses and also of routes, because anycast addresses and local
	 * networks appear only as routes and not on an interface. Rules choose the table of routes,
	 * so listen for changes of rules as well */
	const int rules[] = { RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE };

	r->ask = open_socket(0);
	r->news = open_socket(RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE |
			      RTMGRP_IPV6_ROUTE);
	if (r->ask < 0 || r->news < 0)
		return err_sys(e, errno, "open a netlink socket");
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (setsockopt(r->news, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &rules[i],
			       sizeof(rules[i])) < 0)
			return err_sys(e, errno, "listen for changes of the host's routes");
	return 0;
}

void route_done(struct route *r)
{
	fd_closep(&r->ask);
	fd_closep(&r->news);
}

/* --- asking ----------------------------------------------------------------------------------- */

struct question {
	struct nlmsghdr head;
	struct rtmsg route;
	uint8_t attributes[64];
};

static void add_attribute(struct question *q, unsigned type, const void *p, size_t n)
{
	struct rtattr *a = (struct rtattr *)((uint8_t *)q + NLMSG_ALIGN(q->head.nlmsg_len));

	a->rta_type = (unsigned short)type;
	a->rta_len = (unsigned short)RTA_LENGTH(n);
	memcpy(RTA_DATA(a), p, n);
	q->head.nlmsg_len = (uint32_t)(NLMSG_ALIGN(q->head.nlmsg_len) + RTA_ALIGN(a->rta_len));
}

/* Writes to *Q the netlink message that asks for the route to A. The message also has the protocol
 * and the port, because the host's routing rules may depend on them. */
static void make_question(struct question *q, const struct addr *a, enum policy_proto proto,
			  uint16_t port)
{
	bool v4 = a->family == ADDR_V4;
	size_t n = v4 ? ADDR_V4_BYTES : ADDR_V6_BYTES;
	uint8_t number = proto == PROTO_TCP   ? IPPROTO_TCP
			 : proto == PROTO_UDP ? IPPROTO_UDP
			 : v4                 ? IPPROTO_ICMP
					      : IPPROTO_ICMPV6;
	uint16_t wire_port = htons(port);

	*q = (struct question){ .head = { .nlmsg_len = NLMSG_LENGTH(sizeof(q->route)),
					  .nlmsg_type = RTM_GETROUTE,
					  .nlmsg_flags = NLM_F_REQUEST },
				.route = { .rtm_family = v4 ? AF_INET : AF_INET6,
					   .rtm_dst_len = (uint8_t)(8 * n) } };
	add_attribute(q, RTA_DST, a->b, n);
	add_attribute(q, RTA_IP_PROTO, &number, sizeof(number));
	if (port)
		add_attribute(q, RTA_DPORT, &wire_port, sizeof(wire_port));
}

static enum route_kind kind_of(unsigned type)
{
	switch (type) {
	case RTN_LOCAL:
	case RTN_ANYCAST:
		return ROUTE_HOST;
	case RTN_BROADCAST:
	case RTN_MULTICAST:
		return ROUTE_MANY;
	default:
		return ROUTE_OUT;
	}
}

/* Returns true if the error means "no route", or that the kernel lacks the address family. */
static bool means_no_way(int errnum)
{
	return errnum == ENETUNREACH || errnum == EHOSTUNREACH || errnum == EACCES ||
	       errnum == EINVAL || errnum == EOPNOTSUPP || errnum == ENETDOWN;
}

static enum route_kind read_answer(const struct nlmsghdr *h, size_t n)
{
	const struct nlmsgerr *error = NLMSG_DATA(h);
	const struct rtmsg *route = NLMSG_DATA(h);

	if (h->nlmsg_type == NLMSG_ERROR && n >= NLMSG_LENGTH(sizeof(*error)))
		return means_no_way(-error->error) ? ROUTE_OUT : ROUTE_UNKNOWN;
	if (h->nlmsg_type == RTM_NEWROUTE && n >= NLMSG_LENGTH(sizeof(*route)))
		return kind_of(route->rtm_type);
	return ROUTE_UNKNOWN;
}

enum route_kind route_to(struct route *r, const struct addr *a, enum policy_proto proto,
			 uint16_t port)
{
	_Alignas(struct nlmsghdr) uint8_t answer[ANSWER_BYTES];
	const struct nlmsghdr *h = (const struct nlmsghdr *)answer;
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct question q;
	ssize_t n;

	make_question(&q, a, proto, port);
	q.head.nlmsg_seq = ++r->number;
	if (sendto(r->ask, &q, q.head.nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return ROUTE_UNKNOWN;
	/* the kernel answers before sendto() returns. If a message has another number, it
	 * answers an older question */
	do
		n = recv(r->ask, answer, sizeof(answer), 0);
	while ((n < 0 && errno == EINTR) ||
	       (n >= (ssize_t)sizeof(*h) && h->nlmsg_seq != q.head.nlmsg_seq));
	return n < (ssize_t)sizeof(*h) ? ROUTE_UNKNOWN : read_answer(h, (size_t)n);
}

/* --- the news --------------------------------------------------------------------------------- */

/* Returns true if the host may have a new address after this change. Most changes of routes give
 * the host no address. */
static bool matters(const struct nlmsghdr *h)
{
	const struct rtmsg *route = NLMSG_DATA(h);

	switch (h->nlmsg_type) {
	case RTM_NEWROUTE:
		return h->nlmsg_len >= NLMSG_LENGTH(sizeof(*route)) &&
		       kind_of(route->rtm_type) != ROUTE_OUT;
	case RTM_NEWADDR:
	case RTM_NEWRULE:
	case RTM_DELRULE:
		return true;
	default:
		return false;
	}
}

bool route_changed(struct route *r)
{
	_Alignas(struct nlmsghdr) uint8_t news[NEWS_BYTES];
	bool changed = false;

	for (unsigned i = 0; i < NEWS_PER_TURN; i++) {
		ssize_t n = recv(r->news, news, sizeof(news), MSG_TRUNC);
		const struct nlmsghdr *h = (const struct nlmsghdr *)news;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n < 0 || n > (ssize_t)sizeof(news)) {
			changed = true; /* messages were lost, and one of them may matter */
			continue;
		}
		for (unsigned left = (unsigned)n; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left))
			changed |= matters(h);
	}
	return changed;
}
