/*
 * A batch holds several messages, each with NLM_F_ACK. One sendto() sends them all. The kernel
 * handles them in order and acknowledges each. Some messages fail if the host has no IPv6. Such
 * messages have a mark in their sequence number, and their failure is no error.
 */
#include "process/netlink.h"

#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <string.h>
#include <sys/socket.h>

/* The longest prefixes that hold both gateway and guest. With a shorter prefix the payload could
 * send to many addresses on the link. Each of these addresses would take an entry in the table of
 * neighbours, which all network namespaces of the machine share. */
#define GUEST_V4_LEN 30u
#define GUEST_V6_LEN 126u

static uint8_t *reserve(struct netlink_batch *b, uint32_t n)
{
	uint32_t aligned = NLMSG_ALIGN(n);
	uint8_t *p = b->b + b->n;

	if (b->full || aligned > NETLINK_BATCH_BYTES - b->n) {
		b->full = true;
		return NULL;
	}
	memset(p, 0, aligned);
	b->n += aligned;
	return p;
}

/* Starts a request. Returns the offset of the request, which end() needs. */
static uint32_t begin(struct netlink_batch *b, unsigned type, unsigned flags, bool optional,
		      const void *body, uint32_t body_n)
{
	struct nlmsghdr h = { .nlmsg_type = (uint16_t)type,
			      .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags),
			      .nlmsg_seq = ++b->count | (optional ? NETLINK_SEQ_OPTIONAL : 0) };
	uint32_t at = b->n;
	uint8_t *p = reserve(b, NLMSG_HDRLEN);

	if (p)
		memcpy(p, &h, sizeof(h));
	p = reserve(b, body_n);
	if (p)
		memcpy(p, body, body_n);
	return at;
}

static void end(struct netlink_batch *b, uint32_t at)
{
	uint32_t len = b->n - at;

	if (!b->full)
		/* nlmsg_len is the first member of the header */
		memcpy(b->b + at, &len, sizeof(len));
}

/* Adds an attribute. Returns its offset, which is needed if the attribute holds other
 * attributes. */
static uint32_t attr(struct netlink_batch *b, unsigned type, const void *data, uint32_t n)
{
	struct rtattr a = { .rta_len = (uint16_t)RTA_LENGTH(n), .rta_type = (uint16_t)type };
	uint32_t at = b->n;
	uint8_t *p = reserve(b, RTA_LENGTH(n));

	if (p) {
		memcpy(p, &a, sizeof(a));
		if (n > 0)
			memcpy(p + RTA_LENGTH(0), data, n);
	}
	return at;
}

static void attr_end(struct netlink_batch *b, uint32_t at)
{
	uint16_t len = (uint16_t)(b->n - at);

	if (!b->full)
		/* rta_len is the first member of the header */
		memcpy(b->b + at, &len, sizeof(len));
}

void netlink_add_veth(struct netlink_batch *b)
{
	struct ifinfomsg link = { .ifi_index = NETIF_INDEX },
			 peer = { .ifi_index = NETIF_PEER_INDEX };
	uint32_t at, info, data, inner;
	uint8_t *p;

	at = begin(b, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, false, &link, sizeof(link));
	attr(b, IFLA_IFNAME, NETIF_NAME, sizeof(NETIF_NAME));
	info = attr(b, IFLA_LINKINFO, NULL, 0);
	attr(b, IFLA_INFO_KIND, "veth", 5);
	data = attr(b, IFLA_INFO_DATA, NULL, 0);
	inner = attr(b, VETH_INFO_PEER, NULL, 0);
	p = reserve(b, sizeof(peer));
	if (p)
		memcpy(p, &peer, sizeof(peer));
	attr(b, IFLA_IFNAME, NETIF_PEER_NAME, sizeof(NETIF_PEER_NAME));
	attr_end(b, inner);
	attr_end(b, data);
	attr_end(b, info);
	end(b, at);
}

/* Forbids a link-local address on the interface, so that the kernel sends nothing by itself: it
 * does not ask for routers and does not look for duplicate addresses. */
static void add_quiet_v6(struct netlink_batch *b, int index)
{
	struct ifinfomsg link = { .ifi_index = index };
	uint8_t none = IN6_ADDR_GEN_MODE_NONE;
	uint32_t at, spec, v6;

	at = begin(b, RTM_SETLINK, 0, true, &link, sizeof(link));
	spec = attr(b, IFLA_AF_SPEC, NULL, 0);
	v6 = attr(b, AF_INET6, NULL, 0);
	attr(b, IFLA_INET6_ADDR_GEN_MODE, &none, sizeof(none));
	attr_end(b, v6);
	attr_end(b, spec);
	end(b, at);
}

/* Brings the interface up. If MAC is NULL, the interface keeps its MAC address. */
static void add_up(struct netlink_batch *b, int index, const uint8_t *mac)
{
	struct ifinfomsg link = { .ifi_index = index,
				  .ifi_flags = IFF_UP | IFF_NOARP,
				  .ifi_change = IFF_UP | IFF_NOARP };
	uint32_t mtu = NETIF_MTU, at;

	at = begin(b, RTM_NEWLINK, 0, false, &link, sizeof(link));
	if (mac)
		attr(b, IFLA_ADDRESS, mac, NETIF_MAC_BYTES);
	attr(b, IFLA_MTU, &mtu, sizeof(mtu));
	end(b, at);
}

void netlink_add_peer(struct netlink_batch *b)
{
	add_quiet_v6(b, NETIF_PEER_INDEX);
	add_up(b, NETIF_PEER_INDEX, NULL);
}

static void add_address(struct netlink_batch *b, int family, const uint8_t *a, unsigned len)
{
	uint32_t n = family == AF_INET ? 4 : 16, at;
	struct ifaddrmsg msg = { .ifa_family = (uint8_t)family,
				 .ifa_prefixlen = (uint8_t)len,
				 .ifa_flags = family == AF_INET6 ? IFA_F_NODAD : 0,
				 .ifa_index = NETIF_INDEX };

	at = begin(b, RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, family == AF_INET6, &msg,
		   sizeof(msg));
	attr(b, IFA_LOCAL, a, n);
	attr(b, IFA_ADDRESS, a, n);
	end(b, at);
}

static void add_neighbour(struct netlink_batch *b, int family, const uint8_t *a, const uint8_t *mac)
{
	struct ndmsg msg = { .ndm_family = (uint8_t)family,
			     .ndm_ifindex = NETIF_INDEX,
			     .ndm_state = NUD_PERMANENT };
	uint32_t at = begin(b, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, family == AF_INET6, &msg,
			    sizeof(msg));

	attr(b, NDA_DST, a, family == AF_INET ? 4 : 16);
	attr(b, NDA_LLADDR, mac, NETIF_MAC_BYTES);
	end(b, at);
}

static void add_default_route(struct netlink_batch *b, int family, const uint8_t *via)
{
	struct rtmsg msg = { .rtm_family = (uint8_t)family,
			     .rtm_table = RT_TABLE_MAIN,
			     .rtm_protocol = RTPROT_STATIC,
			     .rtm_scope = RT_SCOPE_UNIVERSE,
			     .rtm_type = RTN_UNICAST };
	uint32_t index = NETIF_INDEX, at;

	at = begin(b, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, family == AF_INET6, &msg,
		   sizeof(msg));
	attr(b, RTA_GATEWAY, via, family == AF_INET ? 4 : 16);
	attr(b, RTA_OIF, &index, sizeof(index));
	end(b, at);
}

void netlink_add_interface(struct netlink_batch *b, const struct netif *n)
{
	add_quiet_v6(b, NETIF_INDEX); /* this must be done before the interface is up */
	add_up(b, NETIF_INDEX, n->guest_mac);
	add_address(b, AF_INET, n->guest_v4, GUEST_V4_LEN);
	add_neighbour(b, AF_INET, n->gateway_v4, n->gateway_mac);
	add_default_route(b, AF_INET, n->gateway_v4);
	add_address(b, AF_INET6, n->guest_v6, GUEST_V6_LEN);
	add_neighbour(b, AF_INET6, n->gateway_v6, n->gateway_mac);
	add_default_route(b, AF_INET6, n->gateway_v6);
}

void netif_setup_init(struct netif_setup *setup, const struct netif *n, bool trains, int report)
{
	*setup = (struct netif_setup){ .trains = trains, .report = report };
	netlink_add_veth(&setup->make);
	netlink_add_peer(&setup->make);
	netlink_add_interface(&setup->configure, n);
}
