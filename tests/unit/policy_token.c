#include "policy/rule.h"
#include "t.h"

static void good_tokens_say_what_they_mean(void)
{
	/* each row: a token, and the token that is written for it */
	static const char *const c[][2] = {
		{ "allow@public", "allow@public" },
		{ "deny@any", "deny@any" },
		{ "deny:egress@meta:any", "deny@meta" },
		{ "allow@dns", "allow@dns" },
		{ "allow@dns:any:53", "allow@dns" },
		{ "allow@dns:udp", "allow@host:udp:53" },
		{ "deny@dns", "deny@dns" },
		{ "allow:ingress@private:tcp:8000-8100", "allow:ingress@private:tcp:8000-8100" },
		{ "allow:any@10.0.0.0/8", "allow:any@10.0.0.0/8" },
		{ "allow@1.2.3.4:udp:any", "allow@1.2.3.4:udp" },
		{ "allow@[2001:db8::1]", "allow@[2001:db8::1]" },
		{ "deny@[2001:db8::/32]:tcp:443", "deny@[2001:db8::/32]:tcp:443" },
		{ "allow@Example.COM.:tcp:443", "allow@example.com:tcp:443" },
		{ "allow@*.example.com", "allow@*.example.com" },
		{ "allow@suffix=example.co.uk", "allow@*.example.co.uk" },
		{ "allow@suffix=.example.com", "allow@*.example.com" },
		{ "allow@domain=registry", "allow@domain=registry" },
		{ "allow@domain=a.example.com", "allow@a.example.com" },
		{ "allow@link-local:icmpv6", "allow@link-local:icmpv6" },
		{ "allow@xn--bcher-kva.example", "allow@xn--bcher-kva.example" },
		{ "allow@any:any:0-65535", "allow@any:any:0-65535" },
		{ "allow@*.www.ck", "allow@*.www.ck" },
	};
	char text[RULE_TEXT_BYTES];

	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		struct rule r;
		struct err e = { 0 };

		if (rule_parse(str_of(c[i][0]), &r, &e) < 0) {
			T_FAIL("%s", e.msg);
			continue;
		}
		rule_format(&r, text);
		T_STR(text, c[i][1]);
	}
}

static void bad_tokens_say_what_to_write(void)
{
	/* each row: a bad token, and what its message must contain */
	static const char *const c[][2] = {
		{ "allow", "'@' is missing" },
		{ "", "'@' is missing" },
		{ "@public", "unknown action ''" },
		{ "alow@public", "did you mean 'allow'?" },
		{ "permit@public", "use allow or deny" },
		{ "allow:egres@public", "did you mean 'egress'?" },
		{ "allow:@public", "unknown direction ''" },
		{ "allow@", "target after '@' is missing" },
		{ "allow@publik", "did you mean 'public'?" },
		{ "allow@meta-data", "domain=meta-data" },
		{ "allow@registry", "domain=registry" },
		{ "allow@example.com:443", "did you mean 'example.com:tcp:443'?" },
		{ "allow@1.2.3.4:80", "did you mean '1.2.3.4:tcp:80'?" },
		{ "allow@example.com:tcpp:443", "did you mean 'tcp'?" },
		{ "allow@example.com:quic", "use any, tcp, udp, icmpv4 or icmpv6" },
		{ "allow@example.com:tcp:http", "bad port 'http'" },
		{ "allow@example.com:tcp:65536", "bad port" },
		{ "allow@example.com:tcp:90-80", "did you mean '80-90'?" },
		{ "allow@example.com:tcp:80-", "bad port" },
		{ "allow@example.com:tcp:80:x", "nothing may follow the ports" },
		{ "allow@*.com", "at least two labels" },
		{ "allow@suffix=com", "at least two labels" },
		{ "allow@*.co.uk", "anybody can register" },
		{ "allow@*.github.io", "anybody can register" },
		{ "allow@*.foo.ck", "anybody can register" },
		{ "allow@suffix=xn--55qx5d.cn", "anybody can register" },
		{ "allow@*.", "not a host name" },
		{ "allow@*.*.com", "not a host name" },
		{ "allow@ex_ample.com", "not a host name" },
		{ "allow@-a.example.com", "not a host name" },
		{ "allow@a..b", "not a host name" },
		{ "allow@b\xc3\xbc"
		  "cher.example",
		  "xn-- form" },
		{ "allow@256.1.1.1", "neither an IPv4 address" },
		{ "allow@010.0.0.1", "neither an IPv4 address" },
		{ "allow@10.0.0.0/33", "not an address or prefix" },
		{ "allow@::1", "stand in brackets" },
		{ "allow@2001:db8::1:tcp:443", "stand in brackets" },
		{ "allow@2001:db8::/32", "stand in brackets" },
		{ "allow@[::1", "']'" },
		{ "allow@[1.2.3.4]", "write '1.2.3.4'" },
		{ "allow@[::1]tcp", "after ']'" },
		{ "allow@[::1]:443", "did you mean '[::1]:tcp:443'?" },
		{ "allow:ingress@dns", "egress only" },
		{ "allow@dns:icmpv4", "'dns' is tcp, udp or any" },
		{ "allow@dns:udp:54", "'dns' is port 53" },
		{ "allow:ingress@any:icmpv4", "egress only" },
		{ "allow:any@any:icmpv6", "egress only" },
		{ "allow@any:icmpv4:8", "has no ports" },
	};

	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		struct rule r;
		struct err e = { 0 };

		if (rule_parse(str_of(c[i][0]), &r, &e) == 0) {
			T_FAIL("accepted '%s'", c[i][0]);
			continue;
		}
		T_INT(e.code, ERR_INVALID);
		T_TRUE(strncmp(e.msg, "--net-rule: ", 12) == 0);
		if (!strstr(e.msg, c[i][1]))
			T_FAIL("'%s': message lacks \"%s\": %s", c[i][0], c[i][1], e.msg);
	}
}

static void a_nul_is_no_end(void)
{
	struct rule r;
	struct err e = { 0 };

	T_INT(rule_parse((struct str){ "allow@a.ok.com\0.evil.com", 24 }, &r, &e), -1);
	T_INT(rule_parse((struct str){ "allow@public\0", 13 }, &r, &e), -1);
}

int main(void)
{
	T_RUN(good_tokens_say_what_they_mean);
	T_RUN(bad_tokens_say_what_to_write);
	T_RUN(a_nul_is_no_end);
	return t_end();
}
