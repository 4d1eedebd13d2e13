#include "cli/network.h"

#include "base/cleanup.h"
#include "cli/ui.h"
#include "policy/options.h"
#include "spec/grammar.h"

#define POLICY_TEXT_MAX_BYTES \
	(4u << 20) /* POLICY_RULES_MAX rules of the longest names, many times over */

static struct policy_strings strings(const struct strv *l)
{
	return (struct policy_strings){ .v = (const char *const *)l->v, .n = l->n };
}

static struct policy_options options_from_args(const struct args *a)
{
	return (struct policy_options){
		.net = strings(args_list(a, "net")),
		.no_net = args_has(a, "no-net"),
		.net_default = args_str(a, "net-default"),
		.net_default_egress = args_str(a, "net-default-egress"),
		.net_default_ingress = args_str(a, "net-default-ingress"),
		.strict = args_has(a, "net-strict"),
		.no_rebind_protection = args_has(a, "no-dns-rebind-protection"),
		.nameservers = strings(args_list(a, "dns-nameserver")),
		.query_timeout_ms = args_uint(a, "dns-query-timeout-ms", 0),
		.ipv4_pool = args_str(a, "net-ipv4-pool"),
		.ipv6_pool = args_str(a, "net-ipv6-pool"),
		.max_connections = args_uint(a, "max-connections", 0),
		.egress_bandwidth = args_str(a, "net-egress-bandwidth"),
		.egress_bandwidth_burst = args_str(a, "net-egress-bandwidth-burst"),
		.egress_ops = args_str(a, "net-egress-ops"),
		.egress_ops_burst = args_str(a, "net-egress-ops-burst"),
		.ingress_bandwidth = args_str(a, "net-ingress-bandwidth"),
		.ingress_bandwidth_burst = args_str(a, "net-ingress-bandwidth-burst"),
		.ingress_ops = args_str(a, "net-ingress-ops"),
		.ingress_ops_burst = args_str(a, "net-ingress-ops-burst"),
	};
}

/* What files said, where no option said otherwise. */
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

/* The record keeps the policy as JSON, so that `inspect` shows what is in force. */
static int keep_policy(const struct policy *p, struct spec *s, struct err *e)
{
	AUTO_BUF b = BUF_INIT(POLICY_TEXT_MAX_BYTES);
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
		ui_warn("published ports refuse every connection that no rule allows: "
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
	if (!args_has(a, "max-connections") && s->max_connections != SPEC_DEFAULT_MAX_CONNECTIONS)
		o.max_connections = s->max_connections; /* a file's */
	strv_copy(&rules, args_list(a, "net-rule"));
	if (x) {
		add_conf(&o, x);
		for (size_t i = 0; i < x->net_rules.n; i++)
			strv_add(&rules, x->net_rules.v[i]);
	}
	o.rules = strings(&rules);
	r = add_ports(a, s, e);
	if (r == 0) {
		r = policy_from_options(&o, &p, e);
		if (r == 0)
			r = apply(&p, s, e);
		policy_done(&p);
	}
	strv_done(&rules);
	return r;
}
