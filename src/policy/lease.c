#include "policy/lease.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sha256.h"

/* Fills the bits FROM to TO-1 of the address *A with bits of SEED. Bit 0 is the first bit. */
static void fill_bits(struct addr *a, unsigned from, unsigned to, const uint8_t *seed)
{
	for (unsigned bit = from; bit < to; bit++) {
		unsigned char mask = (unsigned char)(0x80u >> (bit % 8));

		a->b[bit / 8] = (uint8_t)((a->b[bit / 8] & ~mask) | (seed[bit / 8] & mask));
	}
}

void lease_make(const struct policy *p, const char *sandbox, struct lease *ret)
{
	unsigned char seed[SHA256_BYTES];
	struct sha256 h;

	sha256_init(&h);
	sha256_add(&h, sandbox, strlen(sandbox));
	sha256_end(&h, seed);

	ret->gateway_v4 = p->ipv4_pool.net;
	fill_bits(&ret->gateway_v4, p->ipv4_pool.len, LEASE_V4_LEN, seed);
	ret->guest_v4 = ret->gateway_v4;
	ret->gateway_v4.b[3] |= 1;
	ret->guest_v4.b[3] |= 2;

	ret->gateway_v6 = p->ipv6_pool.net;
	fill_bits(&ret->gateway_v6, p->ipv6_pool.len, LEASE_V6_LEN, seed + 4);
	ret->guest_v6 = ret->gateway_v6;
	ret->gateway_v6.b[15] = 1;
	ret->guest_v6.b[15] = 2;

	memcpy(ret->gateway_mac, seed + 20, MAC_BYTES);
	ret->gateway_mac[0] = (uint8_t)((seed[20] & ~3u) | 2); /* unicast, locally administered */
	memcpy(ret->guest_mac, ret->gateway_mac, MAC_BYTES);
	ret->guest_mac[5] ^= 1;
}

static void mac_format(const uint8_t mac[MAC_BYTES], char out[MAC_TEXT_BYTES])
{
	snprintf(out, MAC_TEXT_BYTES, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
}

static void write_addr(struct json_writer *w, const char *key, const struct addr *a)
{
	char text[ADDR_TEXT_BYTES];

	addr_format(a, text);
	json_key_str(w, key, text);
}

static void write_mac(struct json_writer *w, const char *key, const uint8_t mac[MAC_BYTES])
{
	char text[MAC_TEXT_BYTES];

	mac_format(mac, text);
	json_key_str(w, key, text);
}

void lease_write_json(const struct lease *l, struct json_writer *w)
{
	json_begin_object(w);
	write_addr(w, "gateway_ipv4", &l->gateway_v4);
	write_addr(w, "gateway_ipv6", &l->gateway_v6);
	write_mac(w, "gateway_mac", l->gateway_mac);
	write_addr(w, "guest_ipv4", &l->guest_v4);
	write_addr(w, "guest_ipv6", &l->guest_v6);
	write_mac(w, "guest_mac", l->guest_mac);
	json_end_object(w);
}

static int read_addr(const char *key, const char *s, enum addr_family family, struct addr *ret,
		     struct err *e)
{
	if (addr_parse(str_of(s), ret) < 0 || ret->family != family)
		return err_set(e, ERR_INVALID, "lease.%s: bad address '%.64s'", key, s);
	return 0;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int read_mac(const char *key, const char *s, uint8_t ret[MAC_BYTES], struct err *e)
{
	bool ok = strlen(s) == MAC_TEXT_BYTES - 1;

	for (unsigned i = 0; ok && i < MAC_BYTES; i++) {
		int hi = hex_digit(s[3 * i]), lo = hex_digit(s[3 * i + 1]);

		ok = hi >= 0 && lo >= 0 && (i == MAC_BYTES - 1 || s[3 * i + 2] == ':');
		ret[i] = (uint8_t)(hi << 4 | lo);
	}
	if (!ok || ret[0] & 1)
		return err_set(e, ERR_INVALID, "lease.%s: bad address '%.64s'", key, s);
	return 0;
}

struct lease_json {
	const char *gateway_ipv4, *gateway_ipv6, *gateway_mac, *guest_ipv4, *guest_ipv6, *guest_mac;
};

int lease_read_json(const struct json_value *v, struct lease *ret, struct err *e)
{
	static const struct json_field fields[] = {
		FIELD_STR(struct lease_json, gateway_ipv4, JSON_REQUIRED),
		FIELD_STR(struct lease_json, gateway_ipv6, JSON_REQUIRED),
		FIELD_STR(struct lease_json, gateway_mac, JSON_REQUIRED),
		FIELD_STR(struct lease_json, guest_ipv4, JSON_REQUIRED),
		FIELD_STR(struct lease_json, guest_ipv6, JSON_REQUIRED),
		FIELD_STR(struct lease_json, guest_mac, JSON_REQUIRED),
	};
	struct lease_json j = { 0 };
	struct lease l;

	if (json_decode(v, "lease", fields, ARRAY_SIZE(fields), false, &j, e) < 0 ||
	    read_addr("gateway_ipv4", j.gateway_ipv4, ADDR_V4, &l.gateway_v4, e) < 0 ||
	    read_addr("gateway_ipv6", j.gateway_ipv6, ADDR_V6, &l.gateway_v6, e) < 0 ||
	    read_addr("guest_ipv4", j.guest_ipv4, ADDR_V4, &l.guest_v4, e) < 0 ||
	    read_addr("guest_ipv6", j.guest_ipv6, ADDR_V6, &l.guest_v6, e) < 0 ||
	    read_mac("gateway_mac", j.gateway_mac, l.gateway_mac, e) < 0 ||
	    read_mac("guest_mac", j.guest_mac, l.guest_mac, e) < 0)
		return -1;
	*ret = l;
	return 0;
}
