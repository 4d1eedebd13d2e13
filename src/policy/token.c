/*
 * The grammar of --net-rule: ACTION[:DIR]@TARGET[:PROTO[:PORTS]].
 *
 * People write these tokens by hand. So each mistake that we know of has its own message, which
 * says what to write instead. The parser goes from left to right and stops at the first mistake.
 */
#include "policy/rule.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define WORD_BYTES 24 /* longer than any keyword; a longer word gets no suggestion */
#define SUGGEST_MAX_EDITS 2
#define SHOWN_BYTES 120 /* how much of the user's token a message shows */

static const char *const action_words[] = { "deny", "allow", NULL };
static const char *const direction_words[] = { "egress", "ingress", "any", NULL };
static const char *const target_words[] = { "any",      "dns",     "host",       "meta",
					    "loopback", "private", "link-local", "multicast",
					    "public",   NULL };
static const char *const proto_words[] = { "any", "tcp", "udp", "icmpv4", "icmpv6", NULL };

struct token {
	struct str all;
	struct err *e;
};

/* Copies S to OUT as a C string and returns OUT. If S is too long to be a keyword, returns "". */
static const char *word_of(struct str s, char out[WORD_BYTES])
{
	if (s.n >= WORD_BYTES)
		return "";
	memcpy(out, s.p, s.n);
	out[s.n] = '\0';
	return out;
}

static int word_index(struct str s, const char *const words[])
{
	for (int i = 0; words[i]; i++)
		if (str_eq(s, words[i]))
			return i;
	return -1;
}

static const char *nearest(struct str s, const char *const words[])
{
	char word[WORD_BYTES];
	const char *best = NULL;
	unsigned best_d = SUGGEST_MAX_EDITS + 1;

	if (!*word_of(s, word))
		return NULL;
	for (int i = 0; words[i]; i++) {
		unsigned d = str_distance(word, words[i], SUGGEST_MAX_EDITS);

		if (d < best_d && d < strlen(words[i])) {
			best_d = d;
			best = words[i];
		}
	}
	return best;
}

static int shown(struct str s)
{
	return (int)(s.n < SHOWN_BYTES ? s.n : SHOWN_BYTES);
}

static int bad(const struct token *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
static int bad(const struct token *t, const char *fmt, ...)
{
	char why[ERR_MSG_BYTES / 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return err_set(t->e, ERR_INVALID, "--net-rule: bad rule '%.*s': %s", shown(t->all),
		       t->all.p, why);
}

static int bad_word(const struct token *t, const char *what, struct str got,
		    const char *const words[], const char *all)
{
	const char *near = nearest(got, words);

	if (near)
		return bad(t, "unknown %s '%.*s', did you mean '%s'?", what, shown(got), got.p,
			   near);
	return bad(t, "unknown %s '%.*s', use %s", what, shown(got), got.p, all);
}

static int parse_head(const struct token *t, struct str head, struct rule *r)
{
	struct str rest = head, action = str_cut(&rest, ':');
	int i = word_index(action, action_words);

	if (i < 0)
		return bad_word(t, "action", action, action_words, "allow or deny");
	r->action = (enum policy_action)i;
	if (!rest.p)
		return 0;
	i = word_index(rest, direction_words);
	if (i < 0)
		return bad_word(t, "direction", rest, direction_words, "egress, ingress or any");
	r->direction = (enum policy_direction)i;
	return 0;
}

static bool all_digits(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return s.n > 0;
}

static int parse_name(const struct token *t, struct str s, enum rule_target kind, struct rule *r)
{
	const char *last;

	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] >= 0x80)
			return bad(t, "'%.*s' is not ASCII, write the name in its xn-- form",
				   shown(s), s.p);
	if (name_normalise(s, NAME_HOST, r->name) < 0)
		return bad(t, "'%.*s' is not a host name (letters, digits, hyphens and dots)",
			   shown(s), s.p);
	last = strrchr(r->name, '.');
	last = last ? last + 1 : r->name;
	if (all_digits(str_of(last)))
		return bad(
			t,
			"'%.*s' is neither an IPv4 address (four numbers 0-255, no leading zeros) "
			"nor a host name",
			shown(s), s.p);
	r->target = kind;
	return 0;
}

static int parse_suffix(const struct token *t, struct str s, struct rule *r)
{
	if (parse_name(t, s, TARGET_SUFFIX, r) < 0)
		return -1;
	if (!strchr(r->name, '.'))
		return bad(t, "'*.%s' covers a whole top-level domain, name at least two labels",
			   r->name);
	if (name_is_public_suffix(r->name))
		return bad(
			t,
			"anybody can register names under '%s', so a wildcard over it is refused; "
			"name the site, as in '*.example.%s'",
			r->name, r->name);
	return 0;
}

static int parse_address(const struct token *t, struct str s, struct rule *r)
{
	if (cidr_parse(s, &r->cidr) < 0)
		return bad(t, "'%.*s' is not an address or prefix", shown(s), s.p);
	r->target = TARGET_CIDR;
	return 0;
}

/* Makes a rule for the target `dns`, which already stands for two protocols and one port. Later
 * parse_dns_scope() accepts no other protocol and no other port. */
static int parse_dns(const struct token *t, struct rule *r)
{
	enum policy_action action = r->action;

	if (r->direction != POLICY_EGRESS)
		return bad(t, "'dns' is egress only");
	*r = rule_allow_dns();
	r->action = action;
	return 0;
}

static int parse_word(const struct token *t, struct str s, struct rule *r)
{
	const char *near;

	if (addr_group_parse(s, &r->group) == 0) {
		r->target = TARGET_GROUP;
		return 0;
	}
	if (s.n == 0)
		return bad(t, "the target after '@' is missing");
	near = nearest(s, target_words);
	if (near)
		return bad(t,
			   "unknown target '%.*s', did you mean '%s'? (a host called '%.*s' is "
			   "'domain=%.*s')",
			   shown(s), s.p, near, shown(s), s.p, shown(s), s.p);
	return bad(t, "unknown target '%.*s'; for a host with that name write 'domain=%.*s'",
		   shown(s), s.p, shown(s), s.p);
}

static bool has_prefix(struct str s, const char *prefix, struct str *ret_rest)
{
	size_t n = strlen(prefix);

	if (s.n < n || memcmp(s.p, prefix, n) != 0)
		return false;
	*ret_rest = (struct str){ s.p + n, s.n - n };
	return true;
}

static int parse_target(const struct token *t, struct str s, struct rule *r)
{
	struct str name;

	if (str_eq(s, "any")) {
		r->target = TARGET_ANY;
		return 0;
	}
	if (str_eq(s, "dns"))
		return parse_dns(t, r);
	if (has_prefix(s, "domain=", &name))
		return parse_name(t, name, TARGET_DOMAIN, r);
	if (has_prefix(s, "suffix=*.", &name) || has_prefix(s, "suffix=.", &name) ||
	    has_prefix(s, "suffix=", &name) || has_prefix(s, "*.", &name))
		return parse_suffix(t, name, r);
	if (memchr(s.p, '/', s.n) || cidr_parse(s, &r->cidr) == 0)
		return parse_address(t, s, r);
	if (memchr(s.p, '.', s.n))
		return parse_name(t, s, TARGET_DOMAIN, r);
	return parse_word(t, s, r);
}

static int parse_ports(const struct token *t, struct str s, struct rule *r)
{
	struct str rest = s, low = str_cut(&rest, '-');
	uint64_t lo, hi;

	if (str_eq(s, "any"))
		return 0;
	if (parse_u64_str(low, 0, UINT16_MAX, &lo) < 0 ||
	    parse_u64_str(rest.p ? rest : low, 0, UINT16_MAX, &hi) < 0)
		return bad(t, "bad port '%.*s', use a number 0-65535, a range LO-HI or any",
			   shown(s), s.p);
	if (lo > hi)
		return bad(t, "port range '%.*s' is backwards, did you mean '%u-%u'?", shown(s),
			   s.p, (unsigned)hi, (unsigned)lo);
	if (r->protocols & (PROTO_ICMPV4 | PROTO_ICMPV6))
		return bad(t, "%s has no ports", proto_name(r->protocols));
	r->n_ports = 1;
	r->port[0] = (struct port_range){ (uint16_t)lo, (uint16_t)hi };
	return 0;
}

static int parse_proto(const struct token *t, struct str s, struct str target, struct rule *r)
{
	int i = word_index(s, proto_words);
	uint64_t port;

	if (i < 0 && parse_u64_str(s, 0, UINT16_MAX, &port) == 0)
		return bad(t, "a port needs a protocol in front, did you mean '%.*s:tcp:%.*s'?",
			   shown(target), target.p, shown(s), s.p);
	if (i < 0)
		return bad_word(t, "protocol", s, proto_words, "any, tcp, udp, icmpv4 or icmpv6");
	r->protocols = i == 0 ? 0 : 1u << (i - 1);
	if (r->protocols & (PROTO_ICMPV4 | PROTO_ICMPV6) && r->direction != POLICY_EGRESS)
		return bad(t, "%s rules are egress only", proto_name(r->protocols));
	return 0;
}

static int parse_dns_scope(const struct token *t, const struct rule *scope, struct rule *r)
{
	if (scope->protocols & (PROTO_ICMPV4 | PROTO_ICMPV6))
		return bad(t, "'dns' is tcp, udp or any");
	if (scope->n_ports && (scope->port[0].start != DNS_PORT || scope->port[0].end != DNS_PORT))
		return bad(t, "'dns' is port 53");
	if (scope->protocols)
		r->protocols = scope->protocols;
	return 0;
}

/* Parses [:PROTO[:PORTS]] after the target. */
static int parse_scope(const struct token *t, struct str scope, struct str target, struct rule *r)
{
	bool is_dns = str_eq(target, "dns");
	struct rule given = { .direction = r->direction };
	struct str proto, ports;

	if (!scope.p)
		return 0;
	proto = str_cut(&scope, ':');
	if (parse_proto(t, proto, target, &given) < 0)
		return -1;
	if (scope.p) {
		ports = str_cut(&scope, ':');
		if (scope.p)
			return bad(t, "nothing may follow the ports, found ':%.*s'", shown(scope),
				   scope.p);
		if (parse_ports(t, ports, &given) < 0)
			return -1;
	}
	if (is_dns)
		return parse_dns_scope(t, &given, r);
	r->protocols = given.protocols;
	r->n_ports = given.n_ports;
	r->port[0] = given.port[0];
	return 0;
}

/* Returns true if S, or S up to one of its colons, is an IPv6 address or prefix. */
static bool looks_like_ipv6(struct str s)
{
	struct cidr c;

	for (size_t n = s.n; n > 1; n--)
		if ((n == s.n || s.p[n] == ':') && memchr(s.p, ':', n) &&
		    cidr_parse((struct str){ s.p, n }, &c) == 0)
			return true;
	return false;
}

static int parse_bracketed(const struct token *t, struct str s, struct rule *r)
{
	const char *end = memchr(s.p, ']', s.n);
	struct str inner, scope;

	if (!end)
		return bad(t, "the ']' after the IPv6 address is missing");
	inner = (struct str){ s.p + 1, (size_t)(end - s.p) - 1 };
	scope = (struct str){ end + 1, s.n - inner.n - 2 };
	if (!memchr(inner.p, ':', inner.n))
		return bad(t, "only IPv6 addresses stand in brackets, write '%.*s'", shown(inner),
			   inner.p);
	if (parse_address(t, inner, r) < 0)
		return -1;
	if (scope.n == 0)
		return 0;
	if (scope.p[0] != ':')
		return bad(t, "after ']' comes ':PROTO' or nothing");
	return parse_scope(t, (struct str){ scope.p + 1, scope.n - 1 },
			   (struct str){ s.p, inner.n + 2 }, r);
}

int rule_parse(struct str token, struct rule *ret, struct err *e)
{
	struct token t = { .all = token, .e = e };
	struct str rest = token, head = str_cut(&rest, '@'), target;
	struct rule r = { .direction = POLICY_EGRESS };

	if (!rest.p)
		return bad(&t, "the '@' is missing, write ACTION@TARGET as in 'allow@public'");
	if (parse_head(&t, head, &r) < 0)
		return -1;
	if (rest.n > 0 && rest.p[0] == '[') {
		if (parse_bracketed(&t, rest, &r) < 0)
			return -1;
	} else {
		if (looks_like_ipv6(rest))
			return bad(&t, "IPv6 addresses stand in brackets, as in "
				       "'allow@[2001:db8::1]:tcp:443'");
		target = str_cut(&rest, ':');
		if (parse_target(&t, target, &r) < 0 || parse_scope(&t, rest, target, &r) < 0)
			return -1;
	}
	*ret = r;
	return 0;
}
