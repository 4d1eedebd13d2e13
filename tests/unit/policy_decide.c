/*
 * Tests the verdicts of policy/policy.h, also by a comparison with those of a slow reference
 * implementation that follows the manual. In the reference, addresses are strings of bits, and
 * names are texts.
 */
#include "policy/policy.h"
#include "t.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* --- values for random rules and flows, few enough that rules often match --------------------- */

static const char *const addr_pool[] = {
	"1.2.3.4",         "1.2.3.5",     "10.0.0.1",  "10.0.0.200", "172.16.0.1", "172.16.0.2",
	"169.254.169.254", "169.254.7.7", "127.0.0.1", "224.0.0.1",  "100.64.1.1", "0.0.0.0",
	"2001:db8::1",     "fd42::1",     "fd42::2",   "fe80::1",    "::1",        "ff02::1",
	"fd00:ec2::254",   "::",
};
static const char *const cidr_pool[] = { "1.2.3.4/32",    "1.2.3.4/31", "10.0.0.0/8",
					 "10.0.0.128/25", "0.0.0.0/0",  "2001:db8::/32",
					 "::/0",          "fd42::/64",  "172.16.0.0/30" };
static const char *const name_pool[] = {
	"example.com",     "a.example.com", "b.a.example.com",
	"evilexample.com", "other.org",     "example.com.other.org"
};
static const struct {
	const char *name, *addr; /* what the sandbox has resolved */
} memory[] = {
	{ "example.com", "1.2.3.4" },      { "a.example.com", "1.2.3.5" },
	{ "other.org", "1.2.3.4" },        { "evilexample.com", "2001:db8::1" },
	{ "b.a.example.com", "10.0.0.1" },
};
#define HOST_V4 "172.16.0.1"
#define HOST_V6 "fd42::1"

static unsigned long long seed = 1;
static unsigned pick(unsigned n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(seed >> 33) % n;
}

static struct addr A(const char *s) {
	struct addr a = { 0 };

	if (addr_parse(str_of(s), &a) < 0)
		abort();
	return a;
}

static struct rule
random_rule(void)
{
	struct rule r = { .action = (enum policy_action)pick(2),
			  .direction = (enum policy_direction)pick(3) };

	switch (r.target = (enum rule_target)pick(5)) {
	case TARGET_ANY:
		break;
	case TARGET_GROUP:
		r.group = (enum addr_group)(1 + pick(GROUP_COUNT - 1));
		break;
	case TARGET_CIDR:
		if (cidr_parse(str_of(cidr_pool[pick(ARRAY_SIZE(cidr_pool))]), &r.cidr) < 0)
			abort();
		break;
	case TARGET_DOMAIN:
	case TARGET_SUFFIX:
		snprintf(r.name, sizeof(r.name), "%s", name_pool[pick(ARRAY_SIZE(name_pool))]);
		break;
	}
	if (pick(2))
		r.protocols = pick(16);
	if (pick(3) == 0) {
		uint16_t start = (uint16_t)(50 + pick(6));

		r.n_ports = 1;
		r.port[0] = (struct port_range){ start, (uint16_t)(start + pick(4)) };
	}
	return r;
}

/* --- the reference ---------------------------------------------------------------------------- */

static void bits_of(const struct addr *a, char out[130])
{
	unsigned n = a->family == ADDR_V4 ? 4 : 16;

	for (unsigned i = 0; i < n * 8; i++)
		out[i] = a->b[i / 8] >> (7 - i % 8) & 1 ? '1' : '0';
	out[n * 8] = '\0';
}

static bool ref_in(const struct addr *a, const char *text)
{
	char bits[130], want[130];
	struct cidr c;

	if (cidr_parse(str_of(text), &c) < 0)
		abort();
	bits_of(a, bits);
	bits_of(&c.net, want);
	return strlen(bits) == strlen(want) && strncmp(bits, want, c.len) == 0;
}

static enum addr_group ref_group(const struct addr *a)
{
	static const struct {
		enum addr_group g;
		const char *text;
	} table[] = {
		{ GROUP_NONE, "0.0.0.0" },
		{ GROUP_NONE, "::" },
		{ GROUP_HOST, HOST_V4 },
		{ GROUP_HOST, HOST_V6 },
		{ GROUP_META, "169.254.169.254" },
		{ GROUP_META, "fd00:ec2::254" },
		{ GROUP_LOOPBACK, "127.0.0.0/8" },
		{ GROUP_LOOPBACK, "::1" },
		{ GROUP_PRIVATE, "10.0.0.0/8" },
		{ GROUP_PRIVATE, "172.16.0.0/12" },
		{ GROUP_PRIVATE, "100.64.0.0/10" },
		{ GROUP_PRIVATE, "fc00::/7" },
		{ GROUP_LINK_LOCAL, "169.254.0.0/16" },
		{ GROUP_LINK_LOCAL, "fe80::/10" },
		{ GROUP_MULTICAST, "224.0.0.0/4" },
		{ GROUP_MULTICAST, "ff00::/8" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (ref_in(a, table[i].text))
			return table[i].g;
	return GROUP_PUBLIC;
}

static bool ref_name(const struct rule *r, const char *name)
{
	char dotted_name[300], dotted_suffix[300];

	if (r->target == TARGET_DOMAIN)
		return strcmp(name, r->name) == 0;
	/* ".a.example.com" and ".example.com" both end with ".example.com" */
	snprintf(dotted_name, sizeof(dotted_name), ".%s", name);
	snprintf(dotted_suffix, sizeof(dotted_suffix), ".%s", r->name);
	return strlen(dotted_name) >= strlen(dotted_suffix) &&
	       strcmp(dotted_name + strlen(dotted_name) - strlen(dotted_suffix), dotted_suffix) ==
		       0;
}

static bool ref_resolved(const struct rule *r, const struct addr *peer)
{
	for (size_t i = 0; i < ARRAY_SIZE(memory); i++) {
		struct addr a = A(memory[i].addr);

		if (addr_eq(&a, peer) && ref_name(r, memory[i].name))
			return true;
	}
	return false;
}

static bool ref_scope(const struct rule *r, enum policy_proto proto, unsigned port)
{
	bool has_port = proto == PROTO_TCP || proto == PROTO_UDP;

	if (r->protocols != 0 && (r->protocols & proto) == 0)
		return false;
	if (r->n_ports == 0)
		return true;
	return has_port && port >= r->port[0].start && port <= r->port[0].end;
}

static bool ref_matches(const struct rule *r, const struct policy_flow *f)
{
	if (r->direction != POLICY_BOTH && r->direction != f->direction)
		return false;
	if (!ref_scope(r, f->proto, f->port))
		return false;
	if (r->target == TARGET_ANY)
		return true;
	if (r->target == TARGET_GROUP)
		return ref_group(&f->peer) == r->group;
	if (r->target == TARGET_CIDR) {
		char text[CIDR_TEXT_BYTES];

		cidr_format(&r->cidr, text);
		return ref_in(&f->peer, text);
	}
	if (r->action == POLICY_DENY)
		return ref_resolved(r, &f->peer) || (f->authority && ref_name(r, f->authority));
	if (f->authority && !ref_name(r, f->authority))
		return false;
	return ref_resolved(r, &f->peer);
}

static struct verdict ref_decide(const struct policy *p, const struct policy_flow *f)
{
	for (size_t i = 0; i < p->n_rules; i++)
		if (ref_matches(&p->rule[i], f))
			return (struct verdict){ p->rule[i].action, (int)i };
	return (struct verdict){ f->direction == POLICY_EGRESS ? p->default_egress
							       : p->default_ingress,
				 -1 };
}

static struct verdict ref_query(const struct policy *p, enum policy_proto proto, const char *name)
{
	for (size_t i = 0; i < p->n_rules; i++) {
		const struct rule *r = &p->rule[i];
		bool match = false;

		if (r->direction == POLICY_INGRESS)
			continue;
		if (r->target == TARGET_DOMAIN || r->target == TARGET_SUFFIX) {
			match = ref_name(r, name);
			if (r->action == POLICY_DENY && (r->protocols || r->n_ports))
				match = false;
		} else if (r->target == TARGET_ANY ||
			   (r->target == TARGET_GROUP && r->group == GROUP_HOST)) {
			match = ref_scope(r, proto, 53);
		}
		if (match)
			return (struct verdict){ r->action, (int)i };
	}
	return (struct verdict){ p->default_egress, -1 };
}

static bool ref_answer(const struct policy *p, const struct addr *a)
{
	enum addr_group g = ref_group(a);

	if (!p->rebind_protection || g == GROUP_PUBLIC || g == GROUP_MULTICAST)
		return true;
	for (size_t i = 0; i < p->n_rules; i++) {
		const struct rule *r = &p->rule[i];
		char text[CIDR_TEXT_BYTES];

		if (r->direction == POLICY_INGRESS || r->protocols || r->n_ports)
			continue;
		if (r->target == TARGET_GROUP && r->group == g)
			return r->action == POLICY_ALLOW;
		cidr_format(&r->cidr, text);
		if (r->target == TARGET_CIDR && ref_in(a, text))
			return r->action == POLICY_ALLOW;
	}
	return false;
}

/* --- the comparison --------------------------------------------------------------------------- */

static bool resolved(void *arg, const struct rule *r, const struct addr *peer)
{
	for (size_t i = 0; i < ARRAY_SIZE(memory); i++) {
		struct addr a = A(memory[i].addr);

		if (addr_eq(&a, peer) && rule_covers_name(r, memory[i].name))
			return true;
	}
	return false;
}

static void the_verdict_equals_the_reference(void)
{
	struct addr_host host = { true, true, A(HOST_V4), A(HOST_V6) };
	struct policy_names names = { .resolved = resolved };
	struct err e = { 0 };

	for (unsigned round = 0; round < 3000; round++) {
		struct policy p;

		policy_init(&p);
		p.default_egress = (enum policy_action)pick(2);
		p.default_ingress = (enum policy_action)pick(2);
		p.rebind_protection = pick(4) != 0;
		for (unsigned n = pick(8); n > 0; n--) {
			struct rule r = random_rule();

			T_INT(policy_add_rule(&p, &r, &e), 0);
		}
		for (unsigned k = 0; k < 20; k++) {
			struct policy_flow f = {
				.direction = (enum policy_direction)pick(2),
				.proto = (enum policy_proto)(1u << pick(4)),
				.peer = A(addr_pool[pick(ARRAY_SIZE(addr_pool))]),
				.port = (uint16_t)(50 + pick(8)),
				.authority =
					pick(3) ? NULL : name_pool[pick(ARRAY_SIZE(name_pool))],
			};
			struct verdict got = policy_decide(&p, &host, &f, &names),
				       want = ref_decide(&p, &f);
			enum policy_proto how = pick(2) ? PROTO_TCP : PROTO_UDP;
			const char *name = name_pool[pick(ARRAY_SIZE(name_pool))];

			T_INT(got.action, want.action);
			T_INT(got.rule, want.rule);
			got = policy_decide_query(&p, how, name);
			want = ref_query(&p, how, name);
			T_INT(got.action, want.action);
			T_INT(got.rule, want.rule);
			T_INT(policy_allows_answer(&p, &host, &f.peer), ref_answer(&p, &f.peer));
		}
		policy_done(&p);
		if (t_bad)
			return;
	}
}

/* An IPv6 address of NAT64 or 6to4 contains an IPv4 address. A connection to the IPv6 address
 * reaches the IPv4 address. */
static void a_denied_ipv4_address_is_not_reached_through_ipv6(void)
{
	static const struct {
		const char *rule, *addr;
		enum policy_action want;
	} c[] = {
		{ "deny@198.51.100.0/24", "198.51.100.1", POLICY_DENY },
		{ "deny@198.51.100.0/24", "64:ff9b::198.51.100.1", POLICY_DENY },
		{ "deny@198.51.100.0/24", "2002:c633:6401::1", POLICY_DENY },
		{ "deny@198.51.100.0/24", "64:ff9b::198.51.101.1", POLICY_ALLOW },
		{ "deny@198.51.100.0/24", "2001:db8::c633:6401", POLICY_ALLOW },
		{ "deny@[64:ff9b::/96]", "64:ff9b::198.51.100.1", POLICY_DENY },
		{ "allow@10.0.0.1", "10.0.0.1", POLICY_ALLOW },
		{ "allow@10.0.0.1", "64:ff9b::10.0.0.1", POLICY_DENY },
	};
	struct rule public = { .action = POLICY_ALLOW,
			       .target = TARGET_GROUP,
			       .group = GROUP_PUBLIC };
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		struct policy_flow f = { .proto = PROTO_TCP, .port = 80, .peer = A(c[i].addr) };
		struct policy p;
		struct rule r;

		policy_init(&p);
		T_INT(rule_parse(str_of(c[i].rule), &r, &e), 0);
		T_INT(policy_add_rule(&p, &r, &e), 0);
		T_INT(policy_add_rule(&p, &public, &e), 0);
		if (policy_decide(&p, NULL, &f, NULL).action != c[i].want)
			T_FAIL("%s, %s", c[i].rule, c[i].addr);
		policy_done(&p);
	}
}

/* DNS answers with such an IPv6 address obey the same deny rules. */
static void a_denied_ipv4_address_is_no_answer_through_ipv6(void)
{
	static const char *const rules[] = { "deny@10.0.0.0/8", "allow@private" };
	struct addr denied = A("64:ff9b::10.0.0.1"), allowed = A("64:ff9b::192.168.0.1");
	struct policy p;
	struct err e = { 0 };

	policy_init(&p);
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct rule r;

		T_INT(rule_parse(str_of(rules[i]), &r, &e), 0);
		T_INT(policy_add_rule(&p, &r, &e), 0);
	}
	T_TRUE(!policy_allows_answer(&p, NULL, &denied));
	T_TRUE(policy_allows_answer(&p, NULL, &allowed));
	policy_done(&p);
}

static void an_empty_policy_denies(void)
{
	struct policy p;
	struct policy_flow f = { .direction = POLICY_EGRESS, .proto = PROTO_TCP, .port = 443 };

	policy_init(&p);
	f.peer = A("1.2.3.4");
	T_INT(policy_decide(&p, NULL, &f, NULL).action, POLICY_DENY);
	T_INT(policy_decide_query(&p, PROTO_UDP, "example.com").action, POLICY_DENY);
	T_TRUE(policy_is_closed(&p));
	policy_done(&p);
}

static void a_name_may_change_the_verdict(void)
{
	static const char *const rules[] = { "deny@evil.example:tcp:443", "allow@good.example:tcp",
					     "deny:ingress@other.example", "allow@public" };
	struct policy_flow f = { .direction = POLICY_EGRESS, .proto = PROTO_TCP, .port = 443 };
	struct verdict by_default = { POLICY_ALLOW, POLICY_BY_DEFAULT };
	struct policy p;
	struct err e;

	policy_init(&p);
	T_TRUE(!policy_minds_names(&p, &f, by_default));
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct rule r;

		T_INT(rule_parse(str_of(rules[i]), &r, &e), 0);
		T_INT(policy_add_rule(&p, &r, &e), 0);
	}
	/* rule 1, which allowed the flow, is about a name */
	T_TRUE(policy_minds_names(&p, &f, (struct verdict){ POLICY_ALLOW, 1 }));
	/* rule 0 comes before rule 3 and may deny the name */
	T_TRUE(policy_minds_names(&p, &f, (struct verdict){ POLICY_ALLOW, 3 }));
	T_TRUE(policy_minds_names(&p, &f, by_default));
	f.port = 80;
	T_TRUE(policy_minds_names(&p, &f, (struct verdict){ POLICY_ALLOW, 1 }));
	T_TRUE(!policy_minds_names(&p, &f, (struct verdict){ POLICY_ALLOW, 3 }));
	f.proto = PROTO_UDP, f.port = 443;
	T_TRUE(!policy_minds_names(&p, &f, (struct verdict){ POLICY_ALLOW, 3 }));
	policy_done(&p);
}

int main(void)
{
	T_RUN(a_denied_ipv4_address_is_not_reached_through_ipv6);
	T_RUN(a_denied_ipv4_address_is_no_answer_through_ipv6);
	T_RUN(an_empty_policy_denies);
	T_RUN(the_verdict_equals_the_reference);
	T_RUN(a_name_may_change_the_verdict);
	return t_end();
}
