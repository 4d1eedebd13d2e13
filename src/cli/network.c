#include "cli/network.h"

#include <string.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/say.h"
#include "policy/options.h"
#include "spec/grammar.h"

/* limit for a policy as text; POLICY_RULES_MAX rules with the longest names need far fewer bytes */
#define POLICY_TEXT_MAX_BYTES (4u << 20)

static struct policy_strings strings(const struct strv *l)
{
	return (struct policy_strings){ .v = (const char *const *)l->v, .n = l->n };
}

/* Reads the options that `create`, `run` and `modify` share. */
static struct policy_options rule_options(const struct args *a)
{
	return (struct policy_options){
		.net = strings(args_list(a, "net")),
		.net_default = args_str(a, "net-default"),
		.net_default_egress = args_str(a, "net-default-egress"),
		.net_default_ingress = args_str(a, "net-default-ingress"),
		.rules = strings(args_list(a, "net-rule")),
	};
}

static struct policy_options options_from_args(const struct args *a)
{
	struct policy_options o = rule_options(a);
	const char *network = args_str(a, "network");

	o.no_net = args_has(a, "no-net") || (network && strcmp(network, "none") == 0);
	o.strict = args_has(a, "net-strict");
	o.no_rebind_protection = args_has(a, "no-dns-rebind-protection");
	o.nameservers = strings(args_list(a, "dns-nameserver"));
	o.query_timeout_ms = args_uint(a, "dns-query-timeout-ms", 0);
	o.ipv4_pool = args_str(a, "net-ipv4-pool");
	o.ipv6_pool = args_str(a, "net-ipv6-pool");
	o.max_connections = args_uint(a, "max-connections", 0);
	o.egress_bandwidth = args_str(a, "net-egress-bandwidth");
	o.egress_bandwidth_burst = args_str(a, "net-egress-bandwidth-burst");
	o.egress_ops = args_str(a, "net-egress-ops");
	o.egress_ops_burst = args_str(a, "net-egress-ops-burst");
	o.ingress_bandwidth = args_str(a, "net-ingress-bandwidth");
	o.ingress_bandwidth_burst = args_str(a, "net-ingress-bandwidth-burst");
	o.ingress_ops = args_str(a, "net-ingress-ops");
	o.ingress_ops_burst = args_str(a, "net-ingress-ops-burst");
	return o;
}

/* Applies the settings of configuration files, except those that an option overrides. */
static void add_conf(struct policy_options *o, const struct conf_extra *x)
{
	bool said = o->net.n || o->no_net || o->net_default || o->net_default_egress ||
		    o->net_default_ingress;

	if (!said && x->net_allow_list)
		o->net_default_egress = "deny";
	else if (!said && x->net)
		o->net = (struct policy_strings){ (const char *const *)&x->net, 1 };
	if (!o->nameservers.n)
		o->nameservers = strings(&x->nameservers);
	if (!o->query_timeout_ms)
		o->query_timeout_ms = x->query_timeout_ms;
	o->no_rebind_protection |= x->no_rebind_protection;
}

static int add_ports(const struct args *a, struct spec *s, struct err *e)
{
	const struct strv *l = args_list(a, "port");

	for (size_t i = 0; i < l->n; i++)
		if (spec_add_port(s, l->v[i], e) < 0)
			return -1;
	if (s->multi_tenant && s->n_ports)
		return err_set(e, ERR_INVALID,
			       "--port is not available with --deployment-profile multi-tenant");
	return 0;
}

/* Stores the policy in S as JSON. The record keeps this JSON, so that `inspect` shows the policy
 * that is in force. */
static int keep_policy(const struct policy *p, struct spec *s, struct err *e)
{
	char room[1024];
	AUTO_BUF b = BUF_IN(room, POLICY_TEXT_MAX_BYTES);
	struct json_writer w;

	json_writer_init(&w, &b, 0);
	policy_write_json(p, &w);
	if (buf_failed(&b))
		return err_set(e, ERR_LIMIT, "the network rules are too long");
	json_free(TAKE(s->net_extra_doc));
	return json_parse(b.p, b.n, &s->net_extra_doc, e);
}

static int apply(const struct policy *p, struct spec *s, struct err *e)
{
	s->max_connections = p->max_connections;
	s->net_enabled = !policy_is_closed(p) || s->n_ports > 0;
	if (s->n_ports && p->default_ingress == POLICY_DENY)
		say_warn("published ports refuse every connection that no rule allows: "
			 "incoming traffic is denied");
	return keep_policy(p, s, e);
}

int network_from_args(const struct args *a, const struct conf_extra *x, struct spec *s,
		      struct err *e)
{
	struct policy_options o = options_from_args(a);
	struct strv rules = { 0 };
	struct policy p;
	int r;

	o.multi_tenant = s->multi_tenant;
	if (args_has(a, "max-connections") && o.max_connections == 0)
		return err_set(e, ERR_INVALID, "--max-connections: bad value '0': at least 1");
	if (args_has(a, "dns-query-timeout-ms") && o.query_timeout_ms == 0)
		return err_set(e, ERR_INVALID, "--dns-query-timeout-ms: bad value '0': at least 1");
	if (!args_has(a, "max-connections") && s->max_connections != SPEC_DEFAULT_MAX_CONNECTIONS)
		/* the value in S is from a configuration file */
		o.max_connections = s->max_connections;
	strv_copy(&rules, args_list(a, "net-rule"));
	if (x) {
		add_conf(&o, x);
		for (size_t i = 0; i < x->net_rules.n; i++)
			strv_add(&rules, x->net_rules.v[i]);
	}
	o.rules = strings(&rules);
	s->trust_host_cas = args_has(a, "trust-host-cas") || (x && x->trust_host_cas);
	r = add_ports(a, s, e);
	if (r == 0 && s->trust_host_cas && s->multi_tenant)
		r = err_set(e, ERR_INVALID,
			    "--trust-host-cas is not available with --deployment-profile "
			    "multi-tenant");
	if (r == 0) {
		r = policy_from_options(&o, &p, e);
		if (r == 0)
			r = apply(&p, s, e);
		policy_done(&p);
	}
	strv_done(&rules);
	return r;
}

/* --- what a sandbox has ----------------------------------------------------------------------- */

/* Initialises P. A record that an old version of cordon made has no policy; P then gets the
 * defaults. */
static int policy_of(const struct spec *s, struct policy *p, struct err *e)
{
	static const struct policy_options none;

	if (!s->net_extra_doc || !json_get(json_root(s->net_extra_doc), "policy"))
		return policy_from_options(&none, p, e);
	if (policy_read_json(json_root(s->net_extra_doc), p, e) < 0)
		return -1;
	p->max_connections = s->max_connections;
	return 0;
}

/* Removes all published ports that lead to the sandbox's port GUEST. Returns false if there is
 * none. */
static bool remove_ports(struct spec *s, uint16_t guest, bool udp)
{
	size_t kept = 0, before = s->n_ports;

	for (size_t i = 0; i < before; i++)
		if (s->port[i].guest_port == guest && s->port[i].udp == udp)
			free(s->port[i].bind);
		else
			s->port[kept++] = s->port[i];
	s->n_ports = kept;
	return kept < before;
}

/* Applies the options `--port-rm` and `--port`. A new port replaces every published port that
 * leads to the same port of the sandbox. */
static int change_ports(const struct args *a, bool must_be_set, struct spec *s, struct err *e)
{
	const struct strv *add = args_list(a, "port"), *rm = args_list(a, "port-rm");
	struct spec fresh = { 0 };
	int r;

	for (size_t i = 0; i < rm->n; i++) {
		struct str rest = str_of(rm->v[i]), port = str_cut(&rest, '/');
		bool udp = rest.p && str_eq(rest, "udp");
		uint64_t number;

		if ((rest.p && !udp && !str_eq(rest, "tcp")) ||
		    parse_u64_str(port, 1, UINT16_MAX, &number) < 0)
			return err_set(
				e, ERR_INVALID,
				"--port-rm: bad value '%.64s', use PORT[/udp], the port inside",
				rm->v[i]);
		if (!remove_ports(s, (uint16_t)number, udp) && must_be_set)
			return err_set(e, ERR_INVALID,
				       "--port-rm: port %.64s of the sandbox is not published",
				       rm->v[i]);
	}
	if (!add->n)
		return 0;
	r = add_ports(a, &fresh, e);
	for (size_t i = 0; r == 0 && i < fresh.n_ports; i++)
		(void)remove_ports(s, fresh.port[i].guest_port, fresh.port[i].udp);
	spec_done(&fresh);
	return r < 0 ? -1 : add_ports(a, s, e);
}

int network_change(const struct args *a, bool must_be_set, struct spec *s, struct err *e)
{
	struct policy_options o = rule_options(a);
	struct policy_strings add = strings(args_list(a, "net-rule-add"));
	struct policy_strings rm = strings(args_list(a, "net-rule-rm"));
	bool had_one = s->net_enabled, whole;
	struct policy p;
	int r;

	if (change_ports(a, must_be_set, s, e) < 0)
		return -1;
	whole = o.net.n || o.rules.n || o.net_default || o.net_default_egress ||
		o.net_default_ingress;
	if (!whole && !add.n && !rm.n && !args_list(a, "port")->n)
		return 0;
	o.multi_tenant = s->multi_tenant;
	r = policy_of(s, &p, e);
	if (r == 0 && whole)
		r = policy_change_rules(&o, &p, e);
	if (r == 0)
		r = policy_edit_rules(&p, &add, &rm, s->multi_tenant, e);
	if (r == 0)
		r = apply(&p, s, e);
	/* apply() turns the network off if the rules now deny everything. If the sandbox had a
	 * network, keep it, so that a later `modify` can allow something without a restart */
	s->net_enabled |= had_one;
	policy_done(&p);
	return r;
}

char *network_text(const struct spec *s)
{
	AUTO_BUF b = BUF_INIT(POLICY_TEXT_MAX_BYTES);
	struct err ignored;
	struct policy p;

	if (!s->net_enabled)
		return xstrdup("none (loopback only)");
	if (policy_of(s, &p, &ignored) < 0) {
		policy_done(&p);
		return xstrdup("its rules cannot be read");
	}
	for (size_t i = 0; i < p.n_rules; i++) {
		char text[RULE_TEXT_BYTES];

		rule_format(&p.rule[i], text);
		buf_addf(&b, "%s%s", text, i + 1 < p.n_rules ? " " : ", else ");
	}
	buf_addf(&b, "%s egress, %s ingress", p.default_egress == POLICY_ALLOW ? "allow" : "deny",
		 p.default_ingress == POLICY_ALLOW ? "allow" : "deny");
	policy_done(&p);
	return xstrdup(buf_str(&b));
}

char *network_json(const struct spec *s)
{
	const struct json_value *policy =
		s->net_extra_doc ? json_get(json_root(s->net_extra_doc), "policy") : NULL;
	AUTO_BUF b = BUF_INIT(POLICY_TEXT_MAX_BYTES);
	struct json_writer w;

	json_writer_init(&w, &b, 0);
	json_begin_object(&w);
	json_key_bool(&w, "enabled", s->net_enabled);
	json_key(&w, "policy");
	if (policy)
		json_value_copy(&w, policy);
	else
		json_null(&w);
	json_end_object(&w);
	return xstrdup(buf_str(&b));
}
