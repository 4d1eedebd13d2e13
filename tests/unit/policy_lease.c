#include "policy/lease.h"
#include "t.h"

static void a_lease_is_stable_and_inside_the_pools(void)
{
	struct policy p;
	struct lease a, b, c;

	policy_init(&p);
	lease_make(&p, "web", &a);
	lease_make(&p, "web", &b);
	lease_make(&p, "db", &c);
	T_TRUE(memcmp(&a, &b, sizeof(a)) == 0);
	T_TRUE(!addr_eq(&a.guest_v4, &c.guest_v4));
	T_TRUE(cidr_has(&p.ipv4_pool, &a.gateway_v4) && cidr_has(&p.ipv4_pool, &a.guest_v4));
	T_TRUE(cidr_has(&p.ipv6_pool, &a.gateway_v6) && cidr_has(&p.ipv6_pool, &a.guest_v6));
	T_INT(a.gateway_v4.b[3] & 3, 1);
	T_INT(a.guest_v4.b[3] & 3, 2);
	T_INT(a.guest_v6.b[15], 2);
	T_INT(a.guest_mac[0] & 3, 2);
	T_TRUE(memcmp(a.guest_mac, a.gateway_mac, MAC_BYTES) != 0);
	policy_done(&p);
}

static void json_round_trips(void)
{
	AUTO_BUF text = BUF_INIT(4096);
	AUTO_JSON doc = NULL;
	struct json_writer w;
	struct policy p;
	struct lease a, b = { 0 };
	struct err e = { 0 };

	policy_init(&p);
	lease_make(&p, "web", &a);
	json_writer_init(&w, &text, 0);
	lease_write_json(&a, &w);
	T_INT(json_parse(buf_str(&text), text.n, &doc, &e), 0);
	if (lease_read_json(json_root(doc), &b, &e) < 0)
		T_FAIL("%s", e.msg);
	T_TRUE(addr_eq(&a.guest_v4, &b.guest_v4) && addr_eq(&a.gateway_v6, &b.gateway_v6));
	T_TRUE(memcmp(a.guest_mac, b.guest_mac, MAC_BYTES) == 0);
	policy_done(&p);
}

int main(void)
{
	T_RUN(a_lease_is_stable_and_inside_the_pools);
	T_RUN(json_round_trips);
	return t_end();
}
