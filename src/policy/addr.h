/*
 * Internet addresses for rules: one type for IPv4 and IPv6 addresses, prefixes, and the groups of
 * addresses that rules can name.
 *
 * An IPv4 address in IPv6 form (::ffff:a.b.c.d) is stored as IPv4, so the IPv6 form cannot evade a
 * rule about the IPv4 address. Parsing is strict, so that each text has one meaning: an IPv4
 * address is four decimal octets without leading zeros, and an IPv6 address is RFC 4291 text
 * without a zone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum addr_family { ADDR_V4 = 4, ADDR_V6 = 6 };

#define ADDR_V4_BYTES 4u
#define ADDR_V6_BYTES 16u

struct addr {
	enum addr_family family;
	uint8_t b[ADDR_V6_BYTES]; /* network order; IPv4 uses the first four bytes */
};

struct cidr {
	struct addr net; /* host bits are zero */
	unsigned len;
};

/* The group of an address is the first of these groups that contains the address. */
enum addr_group {
	GROUP_NONE, /* the unspecified address: no group matches it */
	GROUP_HOST, /* the sandbox's own gateway addresses */
	GROUP_META, /* metadata services of the clouds */
	GROUP_LOOPBACK,
	GROUP_PRIVATE,
	GROUP_LINK_LOCAL,
	GROUP_MULTICAST,
	GROUP_PUBLIC, /* everything else */
	GROUP_COUNT
};

/* The addresses that mean "the host" for one sandbox. Either address may be absent. */
struct addr_host {
	bool has_v4, has_v6;
	struct addr v4, v6;
};

/* room for the longest text of an IPv6 address, with its terminator */
#define ADDR_TEXT_BYTES 48
#define CIDR_TEXT_BYTES (ADDR_TEXT_BYTES + 4)

struct addr addr_v4(const uint8_t b[ADDR_V4_BYTES]);
struct addr addr_v6(const uint8_t b[ADDR_V6_BYTES]); /* turns ::ffff:a.b.c.d into IPv4 */
bool addr_eq(const struct addr *a, const struct addr *b);

/* Returns 0 or -EINVAL. */
MUST_USE int addr_parse(struct str s, struct addr *ret);
/* Writes the shortest RFC 5952 text. */
void addr_format(const struct addr *a, char out[ADDR_TEXT_BYTES]);

/* Reads an IPv4 or IPv6 prefix ("a.b.c.d/len") or an address alone. Clears the host bits. Returns 0
 * or -EINVAL. */
MUST_USE int cidr_parse(struct str s, struct cidr *ret);
/* Writes "10.0.0.0/8", or only the address if the prefix covers a single address. */
void cidr_format(const struct cidr *c, char out[CIDR_TEXT_BYTES]);
/* Returns true if the prefix covers one address only. */
bool cidr_is_single(const struct cidr *c);
bool cidr_has(const struct cidr *c, const struct addr *a);

/* Sets *RET to the IPv4 address to which a translator (NAT64, 6to4) would send packets for the IPv6
 * address *A. Returns false if no translator would do that. */
bool addr_carried(const struct addr *a, struct addr *ret);
/* If HOST is NULL, no address is in GROUP_HOST. */
enum addr_group addr_group_of(const struct addr *a, const struct addr_host *host);
const char *addr_group_name(enum addr_group g); /* "link-local"; NULL for GROUP_NONE */
/* Returns 0 or -EINVAL. */
MUST_USE int addr_group_parse(struct str s, enum addr_group *ret);
