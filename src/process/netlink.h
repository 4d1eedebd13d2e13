/*
 * Our own rtnetlink code, for the few requests that give a sandbox its network interface.
 *
 * The parent builds requests as plain bytes, and the task in the right network namespace sends
 * them. netlink_run() makes only system calls, so code between clone and exec can call it. We
 * choose the indexes of the interfaces ourselves, so that every request can be built beforehand.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define NETLINK_BATCH_BYTES 2048u
/* a request that may fail has this bit in its sequence number */
#define NETLINK_SEQ_OPTIONAL 0x80000000u
/* the index of eth0: not a low index, because tunnel devices may have the low indexes in a new
 * namespace */
#define NETIF_INDEX 64
#define NETIF_PEER_INDEX 65
#define NETIF_NAME "eth0"
#define NETIF_PEER_NAME "gw0"
#define NETIF_MTU 1500u
#define NETIF_MAC_BYTES 6u
#define TUN_DEVICE "/dev/net/tun"

struct netlink_batch {
	uint32_t n;     /* bytes used */
	uint32_t count; /* number of requests */
	bool full;      /* too many requests, which is a bug: netlink_run() fails with EMSGSIZE */
	uint8_t b[NETLINK_BATCH_BYTES] __attribute__((aligned(4)));
};

/* The addresses of both ends of a sandbox's link, as bytes. policy/lease.h chooses them. */
struct netif {
	uint8_t guest_mac[NETIF_MAC_BYTES], gateway_mac[NETIF_MAC_BYTES];
	uint8_t guest_v4[4], gateway_v4[4];
	uint8_t guest_v6[16], gateway_v6[16];
};

/* --- building -------------------------------------------------------------------------------- */

/* Adds the requests that make eth0 and its other end gw0. Both are in the current namespace, and
 * both are down. */
void netlink_add_veth(struct netlink_batch *b);
/* Adds the requests that bring gw0 up, without ARP and IPv6. */
void netlink_add_peer(struct netlink_batch *b);
/* Adds the requests that configure eth0 for the payload: addresses, permanent neighbours and
 * default routes. eth0 sends nothing by itself: it has no ARP, no link-local address and no
 * duplicate detection. If the kernel has no IPv6, the IPv6 addresses are left out. */
void netlink_add_interface(struct netlink_batch *b, const struct netif *n);

/* --- running: netif.c, system calls only ----------------------------------------------------- */

/* Sends the requests in the current network namespace. Returns 0, or -errno of a system
 * call that failed or of the first request that failed without NETLINK_SEQ_OPTIONAL. */
MUST_USE long netlink_run(const struct netlink_batch *b);

/* Brings lo up. Returns 0 or -errno. */
MUST_USE long netif_loopback(void);
/* Writes TEXT to PATH, a file below /proc/sys/net. These files belong to the network namespace of
 * the calling process. If PATH is read-only, the setting stays as it is. */
void netif_sysctl(const char *path, const char *text, size_t n);

/* --- the two ways to a link ------------------------------------------------------------------ */

/* If we may open /dev/net/tun, the task of process/netns.h makes the child's network namespace and
 * a tap device in it. Otherwise, for an ordinary user, the child makes a veth pair and sends a
 * packet socket on gw0 to the parent (netif_run_child). This second way needs no privilege outside
 * of the child's own namespaces. */
struct netif_setup {
	struct netlink_batch make;      /* the veth pair eth0 and gw0 */
	struct netlink_batch configure; /* the settings of eth0 */
	bool trains;
	int report; /* the child's end of a socket pair */
};
void netif_setup_init(struct netif_setup *setup, const struct netif *n, bool trains, int report);
/* In the child: sends FD over the socket TO. Returns the number of bytes sent, or -errno. */
MUST_USE long netif_send_descriptor(int to, int fd);
/* In the child: makes the veth pair and sends the packet socket to the parent. Returns 0 or
 * -errno. */
MUST_USE long netif_run_child(const struct netif_setup *setup);
