/* The network settings of configuration files. The ports and max_connections are put into the spec.
 * The other settings are put into struct conf_extra, from which cli/network.c makes the policy. */
#include "spec/conf_apply.h"

#include "base/cleanup.h"
#include "policy/rule.h"
#include "spec/bad.h"
#include "spec/grammar.h"

#define QUERY_TIMEOUT "network.dns.query_timeout"

int conf_apply_ports(const struct json_value *v, const char *path, struct conf_target *a,
		     struct err *e)
{
	struct strv ports = { 0 };
	int r = conf_texts(v, path, "", &ports, e);

	for (size_t i = 0; r == 0 && i < ports.n; i++)
		if ((r = spec_add_port(a->s, ports.v[i], e)) < 0)
			err_wrap(e, "%s[%zu]", path, i);
	strv_done(&ports);
	return r;
}

static int apply_dns(const struct json_value *v, struct conf_target *a, struct err *e)
{
	struct {
		bool rebind_protection;
		const struct json_value *nameservers;
		const char *query_timeout;
	} in = { .rebind_protection = true };
	static const struct json_field fields[] = {
		FIELD_BOOL(__typeof__(in), rebind_protection, JSON_OPTIONAL),
		FIELD_VALUE(__typeof__(in), nameservers, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), query_timeout, JSON_OPTIONAL),
	};

	if (conf_decode(v, "network.dns", fields, ARRAY_SIZE(fields), &in, e) < 0)
		return -1;
	a->x->no_rebind_protection = !in.rebind_protection;
	if (in.nameservers &&
	    conf_texts(in.nameservers, "network.dns.nameservers", "", &a->x->nameservers, e) < 0)
		return -1;
	if (!in.query_timeout)
		return 0;
	if (parse_duration_ms(QUERY_TIMEOUT, in.query_timeout, &a->x->query_timeout_ms, e) < 0)
		return -1;
	/* refuse 0, which means "not given" in struct conf_extra */
	if (a->x->query_timeout_ms == 0)
		return bad_value(e, QUERY_TIMEOUT, "duration", in.query_timeout, "at least 1 ms");
	return 0;
}

struct net_in {
	const char *policy;
	const struct json_value *allow, *deny, *ports, *dns, *tls;
	bool trust_host_cas;
	int64_t max_connections;
};

const struct json_field conf_net_fields[] = {
	FIELD_STR(struct net_in, policy, JSON_OPTIONAL),
	FIELD_VALUE(struct net_in, allow, JSON_OPTIONAL),
	FIELD_VALUE(struct net_in, deny, JSON_OPTIONAL),
	FIELD_VALUE(struct net_in, ports, JSON_OPTIONAL),
	FIELD_VALUE(struct net_in, dns, JSON_OPTIONAL),
	FIELD_VALUE(struct net_in, tls, JSON_OPTIONAL),
	FIELD_BOOL(struct net_in, trust_host_cas, JSON_OPTIONAL),
	FIELD_INT(struct net_in, max_connections, JSON_OPTIONAL, 1, UINT32_MAX),
};
_Static_assert(ARRAY_SIZE(conf_net_fields) == CONF_NET_FIELDS, "CONF_NET_FIELDS is wrong");

static int apply_preset(const char *word, struct conf_target *a, struct err *e)
{
	static const char *const presets[] = { "none", "public", "open", NULL };
	static const char *const nets[] = { "none", "public", "all" };
	int i = word_index(presets, word);

	if (i < 0)
		return err_set(e, ERR_INVALID,
			       "network: expected none, public or open, got '%.64s'", word);
	a->x->net = xstrdup(nets[i]);
	return 0;
}

/* Adds a rule for each target. Checks the rules now, so that a message names the file. All rules
 * are checked again later, together with the rules of --net-rule. */
static int apply_targets(const struct json_value *v, const char *path, const char *action,
			 struct conf_target *a, struct err *e)
{
	size_t n = a->x->net_rules.n;
	struct rule ignored;

	if (conf_texts(v, path, action, &a->x->net_rules, e) < 0)
		return -1;
	for (size_t i = n; i < a->x->net_rules.n; i++)
		if (rule_parse(str_of(a->x->net_rules.v[i]), &ignored, e) < 0)
			return err_wrap(e, "%s[%zu]", path, i - n);
	return 0;
}

int conf_apply_network(const struct json_value *v, const char *path, struct conf_target *a,
		       struct err *e)
{
	struct net_in in = { 0 };

	if (conf_decode(v, path, conf_net_fields, ARRAY_SIZE(conf_net_fields), &in, e) < 0)
		return -1;
	if (in.tls)
		return conf_not_yet("network.tls", e);
	if ((in.policy && apply_preset(in.policy, a, e) < 0) ||
	    (in.deny && apply_targets(in.deny, "network.deny", "deny@", a, e) < 0) ||
	    (in.allow && apply_targets(in.allow, "network.allow", "allow@", a, e) < 0) ||
	    (in.ports && conf_apply_ports(in.ports, "network.ports", a, e) < 0) ||
	    (in.dns && apply_dns(in.dns, a, e) < 0))
		return -1;
	a->x->net_allow_list = in.allow && in.allow->array.n > 0;
	a->x->trust_host_cas = in.trust_host_cas;
	if (in.max_connections)
		a->s->max_connections = (uint32_t)in.max_connections;
	return 0;
}
