/*
 * The configuration of a gateway. It is one JSON object, the first message of the supervisor.
 *
 *   {"type": "config",
 *    "lease":   lease_write_json(),
 *    "network": policy_write_json(),
 *    "host_addresses": ["198.51.100.7", "2001:db8:5::/64"],
 *    "ports":   [{"host_bind": "127.0.0.1", "host_port": 8080, "guest_port": 80,
 *                 "protocol": "tcp"}],
 *    "uid": 65534, "gid": 65534}
 *
 * `host_addresses` are addresses that no interface of this host has. Packets to these addresses
 * still reach this host, because a router translates the addresses. The members `host_addresses`,
 * `ports`, `uid` and `gid` are optional. If the gateway was started as root, it changes to `uid`
 * and `gid` as soon as its ports are bound.
 */
#pragma once

#include "gateway/stack.h"
#include "policy/policy.h"

#define CONFIG_PORTS_MAX 256u
#define CONFIG_HOST_ADDRESSES_MAX 64u /* the most addresses and networks together */

struct gateway_config {
	struct policy policy;
	struct lease lease;
	struct published port[CONFIG_PORTS_MAX];
	size_t n_ports;
	struct cidr host_address[CONFIG_HOST_ADDRESSES_MAX];
	size_t n_host_addresses;
	bool has_ids;
	uint32_t uid, gid;
	/* descriptor of the host's resolv.conf, or -1; not a part of the message */
	int resolv_conf;
};

/* Initialises and fills C. The caller calls config_done() also after a failure. */
MUST_USE int config_read(const struct json_value *v, struct gateway_config *c, struct err *e);
void config_done(struct gateway_config *c);
