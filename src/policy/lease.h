/*
 * The addresses of one sandbox's link.
 *
 * Every sandbox has a network namespace and a gateway of its own, so two sandboxes may have the
 * same addresses. The addresses of one sandbox must not change, so they are derived from the
 * sandbox's name. The addresses are a /30 of the IPv4 pool (the gateway has the first address and
 * the guest the second), a /64 of the IPv6 pool, and two locally administered MAC addresses.
 */
#pragma once

#include "base/json.h"
#include "policy/policy.h"

#define MAC_BYTES 6u
#define MAC_TEXT_BYTES 18

struct lease {
	struct addr gateway_v4, guest_v4;
	struct addr gateway_v6, guest_v6;
	uint8_t gateway_mac[MAC_BYTES], guest_mac[MAC_BYTES];
};

#define LEASE_V4_LEN 30u
#define LEASE_V6_LEN 64u

void lease_make(const struct policy *p, const char *sandbox, struct lease *ret);

/* Writes one object: gateway_ipv4, gateway_ipv6, gateway_mac, guest_ipv4, guest_ipv6, guest_mac. */
void lease_write_json(const struct lease *l, struct json_writer *w);
MUST_USE int lease_read_json(const struct json_value *v, struct lease *ret, struct err *e);
