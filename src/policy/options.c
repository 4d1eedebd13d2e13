#include "policy/options.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

#define RATE_INTERVAL_MS 1000u
/* an interval of more than a day is surely a typo */
#define RATE_INTERVAL_MAX_MS (24u * 3600 * 1000)
#define RATE_AMOUNT_MAX (1ull << 50) /* gateway/bucket.c computes with amounts up to this */

/* --- profiles --------------------------------------------------------------------------------- */

enum profile { NET_PUBLIC, NET_PRIVATE, NET_HOST, NET_ALL, NET_NONE, NET_COUNT };
static const char *const profile_name[] = { "public", "private", "host", "all", "none" };

static int parse_profile(struct str s, enum profile *ret, struct err *e)
{
	for (unsigned i = 0; i < NET_COUNT; i++)
		if (str_eq(s, profile_name[i])) {
			*ret = (enum profile)i;
			return 0;
		}
	return err_set(e, ERR_INVALID,
		       "--net: unknown profile '%.*s', use public, private, host, all or none",
		       (int)(s.n < 64 ? s.n : 64), s.p);
}

/* Reads the profiles of --net. *RET has one bit for each profile that was given. */
static int parse_profiles(const struct policy_strings *net, unsigned *ret, struct err *e)
{
	unsigned set = 0;

	for (size_t i = 0; i < net->n; i++) {
		struct str rest = str_of(net->v[i]);

		while (rest.p) {
			enum profile profile = NET_NONE;

			if (parse_profile(str_cut(&rest, ','), &profile, e) < 0)
				return -1;
			set |= 1u << profile;
		}
	}
	for (unsigned i = NET_ALL; i <= NET_NONE; i++)
		if (set & 1u << i && set != 1u << i)
			return err_set(e, ERR_INVALID, "--net: '%s' combines with nothing else",
				       profile_name[i]);
	*ret = set;
	return 0;
}

static int add_profile_rules(struct policy *p, unsigned set, struct err *e)
{
	static const enum addr_group group[] = {
		[NET_PUBLIC] = GROUP_PUBLIC, [NET_PRIVATE] = GROUP_PRIVATE, [NET_HOST] = GROUP_HOST
	};
	struct rule r = rule_allow_dns();

	if (policy_add_rule(p, &r, e) < 0)
		return -1;
	for (unsigned i = 0; i < ARRAY_SIZE(group); i++) {
		r = rule_allow_group(group[i]);
		if (set & 1u << i && policy_add_rule(p, &r, e) < 0)
			return -1;
	}
	return 0;
}

/* --- defaults and rules ----------------------------------------------------------------------- */

static int parse_action(const char *flag, const char *s, enum policy_action *ret, struct err *e)
{
	if (strcmp(s, "allow") != 0 && strcmp(s, "deny") != 0)
		return err_set(e, ERR_INVALID, "%s: bad value '%.64s', use allow or deny", flag, s);
	*ret = s[0] == 'a' ? POLICY_ALLOW : POLICY_DENY;
	return 0;
}

static int check_conflicts(const struct policy_options *o, struct err *e)
{
	const char *directional = o->net_default_egress    ? "--net-default-egress"
				  : o->net_default_ingress ? "--net-default-ingress"
							   : NULL;
	const char *any_default = o->net_default ? "--net-default" : directional;

	if (o->net.n && o->no_net)
		return err_set(e, ERR_USAGE, "--net cannot be used with --no-net");
	if (o->net.n && any_default)
		return err_set(e, ERR_USAGE, "--net cannot be used with %s", any_default);
	if (o->no_net && any_default)
		return err_set(e, ERR_USAGE, "--no-net cannot be used with %s", any_default);
	if (o->net_default && directional)
		return err_set(e, ERR_USAGE, "--net-default cannot be used with %s", directional);
	return 0;
}

/* Adds the rules of one value of --net-rule, a list of tokens separated by commas. Ignores empty
 * tokens. */
static int add_tokens(struct policy *p, const char *value, struct err *e)
{
	struct str rest = str_of(value);

	while (rest.p) {
		struct str token = str_cut(&rest, ',');
		struct rule r;

		if (token.n == 0)
			continue;
		if (rule_parse(token, &r, e) < 0 || policy_add_rule(p, &r, e) < 0)
			return -1;
	}
	return 0;
}

/*
 * With several tenants, no tenant's rule may open more than the public internet. So the first rules
 * deny every address that is not public, except the resolver.
 */
static int add_tenant_walls(struct policy *p, struct err *e)
{
	static const enum addr_group walled[] = { GROUP_META, GROUP_LOOPBACK, GROUP_PRIVATE,
						  GROUP_LINK_LOCAL, GROUP_MULTICAST };
	struct rule r = {
		.action = POLICY_DENY, .target = TARGET_GROUP, .group = GROUP_HOST, .n_ports = 2
	};

	r.port[0] = (struct port_range){ 0, DNS_PORT - 1 };
	r.port[1] = (struct port_range){ DNS_PORT + 1, UINT16_MAX };
	if (policy_add_rule(p, &r, e) < 0)
		return -1;
	for (unsigned i = 0; i < ARRAY_SIZE(walled); i++) {
		r = (struct rule){ .action = POLICY_DENY,
				   .target = TARGET_GROUP,
				   .group = walled[i] };
		if (policy_add_rule(p, &r, e) < 0)
			return -1;
	}
	return 0;
}

static int check_tenant(const struct policy_options *o, struct err *e)
{
	const char *flag = o->nameservers.n          ? "--dns-nameserver"
			   : o->ipv4_pool            ? "--net-ipv4-pool"
			   : o->ipv6_pool            ? "--net-ipv6-pool"
			   : o->no_rebind_protection ? "--no-dns-rebind-protection"
						     : NULL;

	if (o->multi_tenant && flag)
		return err_set(e, ERR_INVALID,
			       "%s is not available with --deployment-profile multi-tenant", flag);
	return 0;
}

/* Sets the default actions, and adds the rules of the profiles that the options choose. These rules
 * come after the rules that the user wrote. */
static int add_baseline(const struct policy_options *o, struct policy *p, struct err *e)
{
	unsigned profiles = 0;

	p->default_egress = POLICY_DENY;
	p->default_ingress = POLICY_ALLOW;
	if (o->net_default) {
		if (parse_action("--net-default", o->net_default, &p->default_egress, e) < 0)
			return -1;
		p->default_ingress = p->default_egress;
		return 0;
	}
	if (o->net_default_egress || o->net_default_ingress) {
		if (o->net_default_egress &&
		    parse_action("--net-default-egress", o->net_default_egress, &p->default_egress,
				 e) < 0)
			return -1;
		if (o->net_default_ingress &&
		    parse_action("--net-default-ingress", o->net_default_ingress,
				 &p->default_ingress, e) < 0)
			return -1;
		return 0;
	}
	if (parse_profiles(&o->net, &profiles, e) < 0)
		return -1;
	if (o->no_net || profiles == 1u << NET_NONE) {
		p->default_ingress = POLICY_DENY;
		return 0;
	}
	if (profiles == 1u << NET_ALL) {
		p->default_egress = POLICY_ALLOW;
		return 0;
	}
	return add_profile_rules(p, profiles ? profiles : 1u << NET_PUBLIC, e);
}

int policy_change_rules(const struct policy_options *o, struct policy *p, struct err *e)
{
	if (check_conflicts(o, e) < 0 || check_tenant(o, e) < 0)
		return -1;
	policy_done(p);
	if (o->multi_tenant && add_tenant_walls(p, e) < 0)
		return -1;
	for (size_t i = 0; i < o->rules.n; i++)
		if (add_tokens(p, o->rules.v[i], e) < 0)
			return -1;
	return add_baseline(o, p, e);
}

static bool rule_is(const struct rule *r, const struct rule *other)
{
	char text[RULE_TEXT_BYTES], of_other[RULE_TEXT_BYTES];

	rule_format(r, text);
	rule_format(other, of_other);
	return strcmp(text, of_other) == 0;
}

/* Removes the first rule that has the same text form as TOKEN. Leaves the first KEPT rules
 * alone. */
static int remove_rule(struct policy *p, size_t kept, struct str token, struct err *e)
{
	char text[RULE_TEXT_BYTES];
	struct rule r;

	if (rule_parse(token, &r, e) < 0)
		return -1;
	for (size_t i = kept; i < p->n_rules; i++) {
		if (!rule_is(&p->rule[i], &r))
			continue;
		memmove(&p->rule[i], &p->rule[i + 1], (--p->n_rules - i) * sizeof(*p->rule));
		return 0;
	}
	rule_format(&r, text);
	err_set(e, ERR_INVALID, "--net-rule-rm: the sandbox has no rule '%s'", text);
	return err_hint(e, "'inspect' shows its rules");
}

/* Returns the number of rules in WALLS if P begins with these rules, and 0 if not. */
static size_t leading(const struct policy *p, const struct policy *walls)
{
	for (size_t i = 0; i < walls->n_rules; i++)
		if (i >= p->n_rules || !rule_is(&p->rule[i], &walls->rule[i]))
			return 0;
	return walls->n_rules;
}

/* Works like policy_edit_rules(), but puts the result into FIRST, which already has the rules that
 * must stay before all others. Changes P only by removing the rules RM. */
static int edit_rules(struct policy *first, struct policy *p, const struct policy_strings *add,
		      const struct policy_strings *rm, struct err *e)
{
	size_t kept = leading(p, first);
	int r = 0;

	for (size_t i = 0; i < rm->n; i++)
		for (struct str rest = str_of(rm->v[i]); rest.p;) {
			struct str token = str_cut(&rest, ',');

			if (token.n && remove_rule(p, kept, token, e) < 0)
				return -1;
		}
	for (size_t i = 0; r == 0 && i < add->n; i++)
		r = add_tokens(first, add->v[i], e);
	for (size_t i = kept; r == 0 && i < p->n_rules; i++)
		r = policy_add_rule(first, &p->rule[i], e);
	return r;
}

int policy_edit_rules(struct policy *p, const struct policy_strings *add,
		      const struct policy_strings *rm, bool multi_tenant, struct err *e)
{
	struct policy first;
	int r;

	policy_init(&first);
	r = multi_tenant ? add_tenant_walls(&first, e) : 0;
	if (r == 0)
		r = edit_rules(&first, p, add, rm, e);
	if (r == 0) {
		struct rule *old = p->rule;

		p->rule = first.rule;
		p->n_rules = first.n_rules;
		first.rule = old;
	}
	policy_done(&first);
	return r;
}

/* --- resolvers and pools ---------------------------------------------------------------------- */

static int check_nameserver(const char *s, struct err *e)
{
	struct str rest = str_of(s), host;
	char name[NAME_TEXT_BYTES];
	struct addr a;
	uint64_t port;

	if (strlen(s) >= POLICY_NAMESERVER_BYTES)
		return err_set(e, ERR_INVALID, "--dns-nameserver: '%.64s…' is too long", s);
	if (addr_parse(rest, &a) == 0)
		return 0;
	if (s[0] == '[') {
		rest.p++, rest.n--;
		host = str_cut(&rest, ']');
		if (addr_parse(host, &a) == 0 && rest.p && rest.n > 1 && rest.p[0] == ':' &&
		    parse_u64(rest.p + 1, 1, UINT16_MAX, &port) == 0)
			return 0;
	} else {
		host = str_cut(&rest, ':');
		if ((addr_parse(host, &a) == 0 || name_normalise(host, NAME_HOST, name) == 0) &&
		    (!rest.p || parse_u64_str(rest, 1, UINT16_MAX, &port) == 0))
			return 0;
	}
	return err_set(e, ERR_INVALID,
		       "--dns-nameserver: bad address '%s', use IP, IP:PORT, HOST or HOST:PORT", s);
}

static int set_resolver(const struct policy_options *o, struct policy *p, struct err *e)
{
	if (o->nameservers.n > POLICY_NAMESERVERS_MAX)
		return err_set(e, ERR_LIMIT, "--dns-nameserver: at most %u",
			       POLICY_NAMESERVERS_MAX);
	for (size_t i = 0; i < o->nameservers.n; i++) {
		if (check_nameserver(o->nameservers.v[i], e) < 0)
			return -1;
		memcpy(p->nameserver[i], o->nameservers.v[i], strlen(o->nameservers.v[i]) + 1);
	}
	p->n_nameservers = o->nameservers.n;
	if (o->query_timeout_ms > POLICY_QUERY_TIMEOUT_LIMIT_MS)
		return err_set(
			e, ERR_INVALID, "--dns-query-timeout-ms: bad value '%llu': at most %u",
			(unsigned long long)o->query_timeout_ms, POLICY_QUERY_TIMEOUT_LIMIT_MS);
	if (o->query_timeout_ms)
		p->query_timeout_ms = (uint32_t)o->query_timeout_ms;
	p->rebind_protection = !o->no_rebind_protection;
	return 0;
}

static int set_pool(const char *flag, const char *s, enum addr_family family, unsigned max_len,
		    struct cidr *pool, struct err *e)
{
	struct cidr c;

	if (!s)
		return 0;
	if (cidr_parse(str_of(s), &c) < 0 || c.net.family != family || c.len > max_len)
		return err_set(e, ERR_INVALID,
			       "%s: bad pool '%.64s', use an IPv%d prefix of at most /%u", flag, s,
			       (int)family, max_len);
	*pool = c;
	return 0;
}

/* --- rates ------------------------------------------------------------------------------------ */

/* Reads a number with an optional unit. The unit units[i] multiplies the number by factor[i]. */
static int parse_scaled(struct str s, const char *const units[], const uint64_t factor[],
			uint64_t max, uint64_t *ret)
{
	size_t digits = 0;
	uint64_t v;

	while (digits < s.n && s.p[digits] >= '0' && s.p[digits] <= '9')
		digits++;
	if (parse_u64_str((struct str){ s.p, digits }, 1, max, &v) < 0)
		return -EINVAL;
	for (unsigned i = 0; units[i]; i++)
		if (str_eq((struct str){ s.p + digits, s.n - digits }, units[i])) {
			if (v > max / factor[i])
				return -ERANGE;
			*ret = v * factor[i];
			return 0;
		}
	return -EINVAL;
}

static int parse_amount(struct str s, bool bytes, uint64_t *ret)
{
	static const char *const units[] = { "", "K", "k", "M", "m", "G", "g", NULL };
	static const char *const none[] = { "", NULL };
	static const uint64_t factor[] = {
		1, 1 << 10, 1 << 10, 1 << 20, 1 << 20, 1 << 30, 1 << 30
	};

	return parse_scaled(s, bytes ? units : none, factor, RATE_AMOUNT_MAX, ret);
}

static int parse_interval(struct str s, uint64_t *ret_ms)
{
	static const char *const units[] = { "", "ms", "s", "m", "h", NULL };
	static const uint64_t factor[] = { 1000, 1, 1000, 60000, 3600000 };

	return parse_scaled(s, units, factor, RATE_INTERVAL_MAX_MS, ret_ms);
}

static int set_rate(const char *flag, const char *rate, const char *burst, bool bytes,
		    struct rate_limit *ret, struct err *e)
{
	const char *shape = bytes ? "BYTES[/DURATION]" : "N[/DURATION]";
	uint64_t amount, ms = RATE_INTERVAL_MS, size = 0;
	struct str rest, head;

	if (!rate && !burst)
		return 0;
	if (!rate)
		return err_set(e, ERR_INVALID, "%s-burst needs %s", flag, flag);
	rest = str_of(rate);
	head = str_cut(&rest, '/');
	if (parse_amount(head, bytes, &amount) < 0 || (rest.p && parse_interval(rest, &ms) < 0))
		return err_set(e, ERR_INVALID, "%s: bad rate '%.64s', use %s such as %s", flag,
			       rate, shape, bytes ? "10M/1s" : "1000/1s");
	if (burst && parse_amount(str_of(burst), bytes, &size) < 0)
		return err_set(e, ERR_INVALID, "%s-burst: bad value '%.64s', use a number%s", flag,
			       burst, bytes ? " with K, M or G" : "");
	*ret = (struct rate_limit){ .amount = amount, .interval_ms = (uint32_t)ms, .burst = size };
	return 0;
}

static int set_rates(const struct policy_options *o, struct policy_rates *r, struct err *e)
{
	if (set_rate("--net-egress-bandwidth", o->egress_bandwidth, o->egress_bandwidth_burst, true,
		     &r->egress_bandwidth, e) < 0 ||
	    set_rate("--net-egress-ops", o->egress_ops, o->egress_ops_burst, false, &r->egress_ops,
		     e) < 0 ||
	    set_rate("--net-ingress-bandwidth", o->ingress_bandwidth, o->ingress_bandwidth_burst,
		     true, &r->ingress_bandwidth, e) < 0 ||
	    set_rate("--net-ingress-ops", o->ingress_ops, o->ingress_ops_burst, false,
		     &r->ingress_ops, e) < 0)
		return -1;
	return 0;
}

int policy_from_options(const struct policy_options *o, struct policy *p, struct err *e)
{
	policy_init(p);
	if (policy_change_rules(o, p, e) < 0 || set_resolver(o, p, e) < 0 ||
	    set_pool("--net-ipv4-pool", o->ipv4_pool, ADDR_V4, 30, &p->ipv4_pool, e) < 0 ||
	    set_pool("--net-ipv6-pool", o->ipv6_pool, ADDR_V6, 64, &p->ipv6_pool, e) < 0 ||
	    set_rates(o, &p->rates, e) < 0)
		return -1;
	if (o->max_connections > POLICY_CONNECTIONS_LIMIT)
		return err_set(e, ERR_INVALID, "--max-connections: bad value '%llu': at most %u",
			       (unsigned long long)o->max_connections, POLICY_CONNECTIONS_LIMIT);
	if (o->max_connections)
		p->max_connections = (uint32_t)o->max_connections;
	if (o->multi_tenant && p->max_connections > POLICY_MAX_CONNECTIONS)
		p->max_connections = POLICY_MAX_CONNECTIONS;
	p->strict = o->strict;
	return 0;
}
