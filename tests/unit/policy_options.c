#include "policy/options.h"
#include "t.h"

#include "base/cleanup.h"

#define LIST(...)                                                          \
	{                                                                  \
		(const char *const[]){ __VA_ARGS__ },                      \
			ARRAY_SIZE(((const char *const[]){ __VA_ARGS__ })) \
	}

/* Writes P as "egress/ingress: rule rule …". */
static void show(const struct policy *p, struct buf *b)
{
	char text[RULE_TEXT_BYTES];

	buf_clear(b);
	buf_addf(b, "%s/%s:", p->default_egress ? "allow" : "deny",
		 p->default_ingress ? "allow" : "deny");
	for (size_t i = 0; i < p->n_rules; i++) {
		rule_format(&p->rule[i], text);
		buf_addf(b, " %s", text);
	}
}

static void baselines(void)
{
	const struct {
		struct policy_options o;
		const char *want;
	} c[] = {
		{ { .strict = false }, "deny/allow: allow@dns allow@public" },
		{ { .net = LIST("public") }, "deny/allow: allow@dns allow@public" },
		{ { .net = LIST("host,public") }, "deny/allow: allow@dns allow@public allow@host" },
		{ { .net = LIST("host", "private") },
		  "deny/allow: allow@dns allow@private allow@host" },
		{ { .net = LIST("all") }, "allow/allow:" },
		{ { .net = LIST("none") }, "deny/deny:" },
		{ { .no_net = true }, "deny/deny:" },
		{ { .no_net = true, .rules = LIST("allow@example.com") },
		  "deny/deny: allow@example.com" },
		{ { .net_default = "deny" }, "deny/deny:" },
		{ { .net_default = "allow", .rules = LIST("deny@meta") },
		  "allow/allow: deny@meta" },
		{ { .net_default_egress = "allow" }, "allow/allow:" },
		{ { .net_default_ingress = "deny" }, "deny/deny:" },
		{ { .net_default_egress = "deny",
		    .net_default_ingress = "allow",
		    .rules = LIST("allow@dns") },
		  "deny/allow: allow@dns" },
		{ { .rules = LIST("deny@1.2.3.4,,allow@10.0.0.0/8", "deny@*.example.com:tcp") },
		  "deny/allow: deny@1.2.3.4 allow@10.0.0.0/8 deny@*.example.com:tcp allow@dns "
		  "allow@public" },
		{ { .net = LIST("private"), .rules = LIST("deny@10.0.0.1") },
		  "deny/allow: deny@10.0.0.1 allow@dns allow@private" },
	};
	AUTO_BUF text = BUF_INIT(4096);

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		struct policy p;
		struct err e = { 0 };

		if (policy_from_options(&c[i].o, &p, &e) < 0)
			T_FAIL("%s", e.msg);
		show(&p, &text);
		T_STR(buf_str(&text), c[i].want);
		policy_done(&p);
	}
}

static void tenants_reach_public_and_the_resolver_only(void)
{
	const struct policy_options o = { .net = LIST("all"),
					  .rules = LIST("allow@any"),
					  .multi_tenant = true,
					  .max_connections = 9999 };
	const struct policy_options wrong = { .nameservers = LIST("1.1.1.1"),
					      .multi_tenant = true };
	static const struct {
		const char *addr;
		unsigned port;
		enum policy_action want;
	} c[] = { { "8.8.8.8", 53, POLICY_ALLOW },        { "172.16.0.1", 53, POLICY_ALLOW },
		  { "172.16.0.1", 80, POLICY_DENY },      { "10.0.0.1", 53, POLICY_DENY },
		  { "169.254.169.254", 80, POLICY_DENY }, { "127.0.0.1", 53, POLICY_DENY } };
	struct addr_host host = { .has_v4 = true };
	struct policy p;
	struct err e = { 0 };

	T_INT(addr_parse(str_of("172.16.0.1"), &host.v4), 0);
	T_INT(policy_from_options(&o, &p, &e), 0);
	T_INT(p.max_connections, POLICY_MAX_CONNECTIONS);
	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		struct policy_flow f = { .direction = POLICY_EGRESS,
					 .proto = PROTO_TCP,
					 .port = (uint16_t)c[i].port };

		T_INT(addr_parse(str_of(c[i].addr), &f.peer), 0);
		if (policy_decide(&p, &host, &f, NULL).action != c[i].want)
			T_FAIL("%s:%u", c[i].addr, c[i].port);
	}
	T_INT(policy_decide_query(&p, PROTO_UDP, "example.com").action, POLICY_ALLOW);
	policy_done(&p);
	T_INT(policy_from_options(&wrong, &p, &e), -1);
	policy_done(&p);
}

/* The rules that separate tenants stay first, whatever rules a user adds. A removal may only remove
 * the user's own rules, even if they have the same text as one of the first rules. */
static void no_edit_opens_the_walls_between_tenants(void)
{
#define WALLS                                                                           \
	"deny/allow: deny@host:any:0-52+54-65535 deny@meta deny@loopback deny@private " \
	"deny@link-local deny@multicast"
	const struct policy_options o = { .rules = LIST("deny@1.2.3.4", "deny@private"),
					  .multi_tenant = true };
	const struct {
		struct policy_strings add, rm;
		const char *want; /* NULL: the edit fails */
	} c[] = {
		{ .rm = LIST("deny@private"),
		  .want = WALLS " deny@1.2.3.4 allow@dns allow@public" },
		{ .rm = LIST("deny@private"), .want = NULL },
		{ .add = LIST("allow@private"),
		  .want = WALLS " allow@private deny@1.2.3.4 allow@dns allow@public" },
		{ .rm = LIST("deny@meta"), .want = NULL },
		{ .add = LIST("allow@any"),
		  .rm = LIST("allow@private,allow@public"),
		  .want = WALLS " allow@any deny@1.2.3.4 allow@dns" },
	};
	AUTO_BUF text = BUF_INIT(4096);
	struct policy p;
	struct err e = { 0 };

	T_INT(policy_from_options(&o, &p, &e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		T_INT(policy_edit_rules(&p, &c[i].add, &c[i].rm, true, &e), c[i].want ? 0 : -1);
		show(&p, &text);
		if (c[i].want)
			T_STR(buf_str(&text), c[i].want);
	}
	policy_done(&p);
#undef WALLS
}

static void wrong_options(void)
{
	const struct {
		struct policy_options o;
		enum err_code code;
		const char *want;
	} c[] = {
		{ { .net = LIST("bogus") }, ERR_INVALID, "--net: unknown profile 'bogus'" },
		{ { .net = LIST("") }, ERR_INVALID, "--net: unknown profile ''" },
		{ { .net = LIST("all,public") }, ERR_INVALID, "'all' combines with nothing else" },
		{ { .net = LIST("public", "none") },
		  ERR_INVALID,
		  "'none' combines with nothing else" },
		{ { .net = LIST("public"), .no_net = true },
		  ERR_USAGE,
		  "--net cannot be used with --no-net" },
		{ { .net = LIST("public"), .net_default = "deny" }, ERR_USAGE, "--net-default" },
		{ { .no_net = true, .net_default_egress = "deny" },
		  ERR_USAGE,
		  "--net-default-egress" },
		{ { .net_default = "deny", .net_default_ingress = "deny" },
		  ERR_USAGE,
		  "--net-default-ingress" },
		{ { .net_default = "maybe" }, ERR_INVALID, "--net-default: bad value 'maybe'" },
		{ { .rules = LIST("allow@public,allow@publik") }, ERR_INVALID, "'public'?" },
		{ { .nameservers = LIST("1.2.3.4:99999") },
		  ERR_INVALID,
		  "--dns-nameserver: bad address" },
		{ { .nameservers = LIST("bad host") }, ERR_INVALID, "--dns-nameserver" },
		{ { .nameservers = LIST("[::1]:") }, ERR_INVALID, "--dns-nameserver" },
		{ { .ipv4_pool = "10.0.0.0/31" }, ERR_INVALID, "--net-ipv4-pool" },
		{ { .ipv4_pool = "fd00::/48" }, ERR_INVALID, "--net-ipv4-pool" },
		{ { .ipv6_pool = "fd00::/65" }, ERR_INVALID, "--net-ipv6-pool" },
		{ { .egress_bandwidth = "fast" },
		  ERR_INVALID,
		  "--net-egress-bandwidth: bad rate 'fast'" },
		{ { .egress_bandwidth = "1M/0s" }, ERR_INVALID, "--net-egress-bandwidth" },
		{ { .ingress_ops = "1K" }, ERR_INVALID, "--net-ingress-ops" },
		{ { .egress_ops_burst = "5" },
		  ERR_INVALID,
		  "--net-egress-ops-burst needs --net-egress-ops" },
		{ { .max_connections = 1000000 }, ERR_INVALID, "--max-connections" },
		{ { .query_timeout_ms = 10000000 }, ERR_INVALID, "--dns-query-timeout-ms" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		struct policy p;
		struct err e = { 0 };

		T_INT(policy_from_options(&c[i].o, &p, &e), -1);
		T_INT(e.code, c[i].code);
		if (!strstr(e.msg, c[i].want))
			T_FAIL("message lacks \"%s\": %s", c[i].want, e.msg);
		policy_done(&p);
	}
}

static void as_json(const struct policy *p, struct buf *b)
{
	struct json_writer w;

	buf_clear(b);
	json_writer_init(&w, b, 0);
	policy_write_json(p, &w);
}

static void json_round_trips(void)
{
	const struct policy_options o = {
		.net = LIST("public", "host"),
		.rules = LIST("deny:any@[2001:db8::/"
			      "32],allow@*.example.com:tcp:443,allow@domain=registry,"
			      "allow@any:icmpv4"),
		.strict = true,
		.no_rebind_protection = true,
		.nameservers = LIST("1.1.1.1", "[2001:db8::1]:5353", "dns.example:53"),
		.query_timeout_ms = 700,
		.ipv4_pool = "10.9.0.0/16",
		.max_connections = 9,
		.egress_bandwidth = "2M/500ms",
		.egress_bandwidth_burst = "4M",
		.ingress_ops = "100",
	};
	AUTO_BUF first = BUF_INIT(1 << 16), second = BUF_INIT(1 << 16);
	AUTO_JSON doc = NULL;
	struct policy p, q;
	struct err e = { 0 };

	T_INT(policy_from_options(&o, &p, &e), 0);
	as_json(&p, &first);
	T_INT(json_parse(buf_str(&first), first.n, &doc, &e), 0);
	if (policy_read_json(json_root(doc), &q, &e) < 0)
		T_FAIL("%s", e.msg);
	as_json(&q, &second);
	T_STR(buf_str(&second), buf_str(&first));
	T_INT(q.rates.egress_bandwidth.amount, 2 << 20);
	T_INT(q.rates.egress_bandwidth.interval_ms, 500);
	T_INT(q.n_rules, p.n_rules);
	T_TRUE(strstr(buf_str(&first),
		      "{\"action\":\"allow\",\"destination\":{\"domain_suffix\":\"example.com\"},"
		      "\"direction\":\"egress\",\"ports\":[{\"end\":443,\"start\":443}],"
		      "\"protocols\":[\"tcp\"]}") != NULL);
	policy_done(&p);
	policy_done(&q);
}

static void wrong_json_denies_everything(void)
{
	static const char *const c[] = {
		"[]",
		"{\"policy\":{}}",
		"{\"policy\":{\"default_egress\":\"yes\",\"default_ingress\":\"deny\"}}",
		"{\"policy\":{\"default_egress\":\"allow\",\"default_ingress\":\"allow\",\"rules\":"
		"[{}]}}",
		"{\"policy\":{\"default_egress\":\"allow\",\"default_ingress\":\"allow\",\"rules\":"
		"[{\"action\":"
		"\"allow\",\"destination\":{\"domain\":\"a b\"}}]}}",
		"{\"policy\":{\"default_egress\":\"allow\",\"default_ingress\":\"allow\",\"rules\":"
		"[{\"action\":"
		"\"allow\",\"destination\":{\"cidr\":\"1.2.3\"}}]}}",
		"{\"policy\":{\"default_egress\":\"allow\",\"default_ingress\":\"allow\",\"rules\":"
		"[{\"action\":"
		"\"allow\",\"destination\":\"any\",\"ports\":[{\"start\":9,\"end\":1}]}]}}",
		"{\"max_connections\":0}",
		"{\"dns\":{\"query_timeout_ms\":0}}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		AUTO_JSON doc = NULL;
		struct policy p;
		struct err e = { 0 };

		T_INT(json_parse(c[i], strlen(c[i]), &doc, &e), 0);
		if (policy_read_json(json_root(doc), &p, &e) == 0)
			T_FAIL("accepted %s", c[i]);
		T_TRUE(policy_is_closed(&p));
		policy_done(&p);
	}
}

int main(void)
{
	T_RUN(baselines);
	T_RUN(tenants_reach_public_and_the_resolver_only);
	T_RUN(no_edit_opens_the_walls_between_tenants);
	T_RUN(wrong_options);
	T_RUN(json_round_trips);
	T_RUN(wrong_json_denies_everything);
	return t_end();
}
