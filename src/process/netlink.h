/*
 * rtnetlink by hand: the few requests that give a sandbox its interface.
 *
 * The parent builds requests as plain bytes, and the task in the right network namespace sends them.
 * netlink_run() makes only system calls, so code between clone and exec can call it. We choose the
 * indexes of interfaces, so that every request is known beforehand.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define NETLINK_BATCH_BYTES 2048u
/* this bit in its sequence number marks a request that may fail */
#define NETLINK_SEQ_OPTIONAL 0x80000000u
/* the index of eth0; in a new namespace tunnel devices may take the low numbers */
#define NETIF_INDEX 64
#define NETIF_PEER_INDEX 65
#define NETIF_NAME "eth0"
#define NETIF_PEER_NAME "gw0"
#define NETIF_MTU 1500u
#define NETIF_MAC_BYTES 6u
#define TUN_DEVICE "/dev/net/tun"

struct netlink_batch {
	uint32_t n;     /* bytes used */
	uint32_t count; /* requests */
	bool full;      /* too many requests, which is a bug: netlink_run() fails with EMSGSIZE */
	uint8_t b[NETLINK_BATCH_BYTES] __attribute__((aligned(4)));
};

/* The two ends of a sandbox's link, as bytes: policy/lease.h makes them. */
struct netif {
	uint8_t guest_mac[NETIF_MAC_BYTES], gateway_mac[NETIF_MAC_BYTES];
	uint8_t guest_v4[4], gateway_v4[4];
	uint8_t guest_v6[16], gateway_v6[16];
};

/* --- building ---------------------------------------------------------------------------------- */

/* Adds eth0 and its other end gw0, both in the current namespace and down. */
void netlink_add_veth(struct netlink_batch *b);
/* Brings up gw0, without ARP and IPv6. */
void netlink_add_peer(struct netlink_batch *b);
/* Configures eth0 for the payload: silent (no ARP, no link-local address, no duplicate detection), with addresses,
 * permanent neighbours and default routes. IPv6 is left out if the kernel has none. */
void netlink_add_interface(struct netlink_batch *b, const struct netif *n);

/* --- running: netif.c, system calls only ------------------------------------------------------- */

/* Sends the requests in the current network namespace. Returns 0, or -errno of the first request
 * that failed. */
MUST_USE long netlink_run(const struct netlink_batch *b);

/* Brings lo up. Returns 0 or -errno. */
MUST_USE long netif_loopback(void);
/* Writes TEXT to PATH below /proc/sys/net, which shows the network namespace of the caller. If PATH is read-only, the
 * setting stays as it is. */
void netif_sysctl(const char *path, const char *text, size_t n);

/* --- the two ways to a link --------------------------------------------------------------------- */

/* If the caller may open /dev/net/tun, the task of netns.h makes a tap device in the child's network namespace, which
 * the task has made. Otherwise, for an ordinary user, the child makes a veth and sends the packet socket to the
 * parent (netif_run_child). This needs no privilege outside of the child's own namespaces. */
struct netif_job {
	struct netlink_batch make;      /* the veth pair eth0 and gw0 */
	struct netlink_batch configure; /* eth0 */
	bool trains;
	int report; /* the child's end of a socket pair */
};
void netif_job_init(struct netif_job *job, const struct netif *n, bool trains, int report);
/* In the child: sends FD over the socket TO. Returns the number of bytes sent, or -errno. */
MUST_USE long netif_send_descriptor(int to, int fd);
/* In the child: makes the veth and sends the packet socket. Returns 0 or -errno. */
MUST_USE long netif_run_child(const struct netif_job *job);
