#include "policy/addr.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

static const char *const group_name[] = {
	[GROUP_NONE] = NULL,
	[GROUP_HOST] = "host",
	[GROUP_META] = "meta",
	[GROUP_LOOPBACK] = "loopback",
	[GROUP_PRIVATE] = "private",
	[GROUP_LINK_LOCAL] = "link-local",
	[GROUP_MULTICAST] = "multicast",
	[GROUP_PUBLIC] = "public",
};
static_assert(ARRAY_SIZE(group_name) == GROUP_COUNT, "a group has no name");

struct addr addr_v4(const uint8_t b[ADDR_V4_BYTES])
{
	struct addr a = { .family = ADDR_V4 };

	memcpy(a.b, b, ADDR_V4_BYTES);
	return a;
}

struct addr addr_v6(const uint8_t b[ADDR_V6_BYTES])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct addr a = { .family = ADDR_V6 };

	if (memcmp(b, mapped, sizeof(mapped)) == 0)
		return addr_v4(b + sizeof(mapped));
	memcpy(a.b, b, ADDR_V6_BYTES);
	return a;
}

bool addr_eq(const struct addr *a, const struct addr *b)
{
	return a->family == b->family && memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

static bool is_unspecified(const struct addr *a)
{
	static const uint8_t zero[ADDR_V6_BYTES];

	return memcmp(a->b, zero, sizeof(zero)) == 0;
}

static int v4_parse(struct str s, uint8_t out[ADDR_V4_BYTES])
{
	for (unsigned i = 0; i < ADDR_V4_BYTES; i++) {
		struct str part;
		uint64_t v;

		if (!s.p)
			return -EINVAL;
		part = str_cut(&s, '.');
		/* some programs read a number with a leading zero as octal, others as decimal, so
		 * we refuse such a number */
		if (part.n > 3 || (part.n > 1 && part.p[0] == '0') ||
		    parse_u64_str(part, 0, 255, &v) < 0)
			return -EINVAL;
		out[i] = (uint8_t)v;
	}
	return s.p ? -EINVAL : 0;
}

static int hex_group_parse(struct str s, uint8_t out[2])
{
	unsigned v = 0;

	if (s.n < 1 || s.n > 4)
		return -EINVAL;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		unsigned d = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
			     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
			     : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
						    : 16;

		if (d > 15)
			return -EINVAL;
		v = v << 4 | d;
	}
	out[0] = (uint8_t)(v >> 8);
	out[1] = (uint8_t)v;
	return 0;
}

/* Reads groups that are separated by colons into OUT. The last group may be a dotted IPv4 address.
 * Returns the number of bytes, or -1. */
static int hex_groups_parse(struct str s, uint8_t out[ADDR_V6_BYTES])
{
	unsigned n = 0;

	if (s.n == 0)
		return 0;
	while (s.p) {
		struct str part = str_cut(&s, ':');

		if (!s.p && memchr(part.p, '.', part.n)) {
			if (n + ADDR_V4_BYTES > ADDR_V6_BYTES || v4_parse(part, out + n) < 0)
				return -1;
			n += ADDR_V4_BYTES;
		} else {
			if (n + 2 > ADDR_V6_BYTES || hex_group_parse(part, out + n) < 0)
				return -1;
			n += 2;
		}
	}
	return (int)n;
}

static int v6_parse(struct str s, uint8_t out[ADDR_V6_BYTES])
{
	uint8_t head[ADDR_V6_BYTES] = { 0 }, tail[ADDR_V6_BYTES] = { 0 };
	struct str after = { NULL, 0 };
	int n_head, n_tail = 0;

	for (size_t i = 0; i + 1 < s.n; i++)
		if (s.p[i] == ':' && s.p[i + 1] == ':') {
			after = (struct str){ s.p + i + 2, s.n - i - 2 };
			s.n = i;
			break;
		}
	if (after.p && memchr(s.p, '.', s.n))
		return -EINVAL; /* dotted IPv4 is allowed only at the very end */
	n_head = hex_groups_parse(s, head);
	if (after.p)
		n_tail = hex_groups_parse(after, tail);
	if (n_head < 0 || n_tail < 0)
		return -EINVAL;
	if (after.p ? n_head + n_tail > 14 : n_head != (int)ADDR_V6_BYTES)
		return -EINVAL;
	memset(out, 0, ADDR_V6_BYTES);
	memcpy(out, head, (size_t)n_head);
	memcpy(out + ADDR_V6_BYTES - n_tail, tail, (size_t)n_tail);
	return 0;
}

int addr_parse(struct str s, struct addr *ret)
{
	uint8_t b[ADDR_V6_BYTES];

	if (!memchr(s.p, ':', s.n)) {
		if (v4_parse(s, b) < 0)
			return -EINVAL;
		*ret = addr_v4(b);
	} else {
		if (v6_parse(s, b) < 0)
			return -EINVAL;
		*ret = addr_v6(b);
	}
	return 0;
}

static void v6_format(const uint8_t b[ADDR_V6_BYTES], char out[ADDR_TEXT_BYTES])
{
	unsigned gap = 8, gap_n = 1; /* the longest run of two or more zero groups */
	size_t at = 0;

	for (unsigned i = 0; i < 8; i++) {
		unsigned n = 0;

		while (i + n < 8 && !b[2 * (i + n)] && !b[2 * (i + n) + 1])
			n++;
		if (n > gap_n) {
			gap = i;
			gap_n = n;
		}
	}
	out[0] = '\0';
	for (unsigned i = 0; i < 8; i++) {
		unsigned group = (unsigned)b[2 * i] << 8 | b[2 * i + 1];

		if (i == gap) {
			at += (size_t)snprintf(out + at, ADDR_TEXT_BYTES - at, "::");
			i += gap_n - 1;
			continue;
		}
		at += (size_t)snprintf(out + at, ADDR_TEXT_BYTES - at, "%s%x",
				       i == 0 || i == gap + gap_n ? "" : ":", group);
	}
}

void addr_format(const struct addr *a, char out[ADDR_TEXT_BYTES])
{
	if (a->family == ADDR_V4)
		snprintf(out, ADDR_TEXT_BYTES, "%u.%u.%u.%u", a->b[0], a->b[1], a->b[2], a->b[3]);
	else
		v6_format(a->b, out);
}

static unsigned addr_bits(const struct addr *a)
{
	return a->family == ADDR_V4 ? 32 : 128;
}

int cidr_parse(struct str s, struct cidr *ret)
{
	struct str rest = s, host = str_cut(&rest, '/');
	struct addr a;
	uint64_t len;

	if (addr_parse(host, &a) < 0)
		return -EINVAL;
	len = addr_bits(&a);
	if (rest.p) {
		/* the prefix length of ::ffff:10.0.0.0/104 counts the bits of the IPv6 form */
		bool unmapped = a.family == ADDR_V4 && memchr(host.p, ':', host.n);

		if (rest.n > 3 || parse_u64_str(rest, 0, unmapped ? 128 : len, &len) < 0)
			return -EINVAL;
		if (unmapped && len < 96)
			return -EINVAL;
		len -= unmapped ? 96 : 0;
	}
	for (unsigned bit = (unsigned)len; bit < addr_bits(&a); bit++)
		a.b[bit / 8] &= (uint8_t) ~(0x80u >> (bit % 8));
	*ret = (struct cidr){ .net = a, .len = (unsigned)len };
	return 0;
}

bool cidr_is_single(const struct cidr *c)
{
	return c->len == addr_bits(&c->net);
}

void cidr_format(const struct cidr *c, char out[CIDR_TEXT_BYTES])
{
	char text[ADDR_TEXT_BYTES];

	addr_format(&c->net, text);
	if (cidr_is_single(c))
		snprintf(out, CIDR_TEXT_BYTES, "%s", text);
	else
		snprintf(out, CIDR_TEXT_BYTES, "%s/%u", text, c->len);
}

bool cidr_has(const struct cidr *c, const struct addr *a)
{
	unsigned bytes = c->len / 8, bits = c->len % 8;

	if (c->net.family != a->family || memcmp(c->net.b, a->b, bytes) != 0)
		return false;
	return bits == 0 || ((c->net.b[bytes] ^ a->b[bytes]) >> (8 - bits)) == 0;
}

/* clang-format off */
static const struct range {
	enum addr_group group;
	struct cidr cidr;
} ranges[] = {
#define V4(a, b, c, d, len) { { ADDR_V4, { a, b, c, d } }, len }
#define V6(len, ...) { { ADDR_V6, { __VA_ARGS__ } }, len }
	{ GROUP_META, V4(169, 254, 169, 254, 32) }, /* AWS, Azure, Google, OpenStack and others */
	{ GROUP_META, V4(169, 254, 170, 2, 32) },   /* AWS container credentials */
	{ GROUP_META, V4(100, 100, 100, 200, 32) }, /* Alibaba */
	{ GROUP_META, V4(168, 63, 129, 16, 32) },   /* Azure wire server */
	{ GROUP_META, V4(192, 0, 0, 192, 32) },     /* Oracle's older cloud */
	/* AWS over IPv6 */
	{ GROUP_META, V6(128, 0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54) },
	{ GROUP_LOOPBACK, V4(127, 0, 0, 0, 8) },
	{ GROUP_LOOPBACK, V6(128, [15] = 1) },
	{ GROUP_PRIVATE, V4(10, 0, 0, 0, 8) },
	{ GROUP_PRIVATE, V4(172, 16, 0, 0, 12) },
	{ GROUP_PRIVATE, V4(192, 168, 0, 0, 16) },
	{ GROUP_PRIVATE, V4(100, 64, 0, 0, 10) }, /* carrier-grade NAT */
	/* between a network and its provider (DS-Lite, discovery) */
	{ GROUP_PRIVATE, V4(192, 0, 0, 0, 24) },
	{ GROUP_PRIVATE, V6(7, 0xfc) },
	{ GROUP_PRIVATE, V6(10, 0xfe, 0xc0) },                         /* site-local, deprecated */
	/* local-use translation, RFC 8215 */
	{ GROUP_PRIVATE, V6(48, 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01) },
	{ GROUP_LINK_LOCAL, V4(169, 254, 0, 0, 16) },
	{ GROUP_LINK_LOCAL, V6(10, 0xfe, 0x80) },
	{ GROUP_MULTICAST, V4(224, 0, 0, 0, 4) },
	{ GROUP_MULTICAST, V6(8, 0xff) },
};
/* IPv6 ranges whose addresses contain an IPv4 address. A translator in the network sends packets
 * for such an IPv6 address to the contained IPv4 address. */
static const struct carrier {
	struct cidr cidr;
	unsigned at; /* offset of the IPv4 address in the IPv6 address */
} carriers[] = {
	{ V6(96, 0x00, 0x64, 0xff, 0x9b), 12 }, /* NAT64, RFC 6052 */
	{ V6(16, 0x20, 0x02), 2 },              /* 6to4 */
};
#undef V4
#undef V6
/* clang-format on */

static enum addr_group plain_group(const struct addr *a)
{
	for (unsigned i = 0; i < ARRAY_SIZE(ranges); i++)
		if (cidr_has(&ranges[i].cidr, a))
			return ranges[i].group;
	return GROUP_PUBLIC;
}

bool addr_carried(const struct addr *a, struct addr *ret)
{
	for (unsigned i = 0; i < ARRAY_SIZE(carriers); i++)
		if (cidr_has(&carriers[i].cidr, a)) {
			*ret = addr_v4(a->b + carriers[i].at);
			return true;
		}
	return false;
}

enum addr_group addr_group_of(const struct addr *a, const struct addr_host *host)
{
	struct addr carried;

	if (is_unspecified(a))
		return GROUP_NONE;
	if (host &&
	    ((host->has_v4 && addr_eq(a, &host->v4)) || (host->has_v6 && addr_eq(a, &host->v6))))
		return GROUP_HOST;
	if (addr_carried(a, &carried))
		return is_unspecified(&carried) ? GROUP_NONE : plain_group(&carried);
	return plain_group(a);
}

const char *addr_group_name(enum addr_group g)
{
	return group_name[g];
}

int addr_group_parse(struct str s, enum addr_group *ret)
{
	for (unsigned g = GROUP_NONE + 1; g < GROUP_COUNT; g++)
		if (str_eq(s, group_name[g])) {
			*ret = (enum addr_group)g;
			return 0;
		}
	return -EINVAL;
}
