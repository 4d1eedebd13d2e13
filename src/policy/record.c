/*
 * Writes a policy as JSON, and reads it again. `inspect` shows the members of this JSON under
 * `network`, the record of the sandbox keeps them, and the gateway receives them. Of `interface`
 * and `rates`, only values that differ from the defaults are written.
 */
#include "policy/policy.h"

#include <string.h>

#include "base/cleanup.h"

static const char *action_name(enum policy_action a)
{
	return a == POLICY_ALLOW ? "allow" : "deny";
}

static const char *const direction_name[] = {
	[POLICY_EGRESS] = "egress", [POLICY_INGRESS] = "ingress", [POLICY_BOTH] = "any"
};

/* --- writing -------------------------------------------------------------------------------- */

static void write_destination(const struct rule *r, struct json_writer *w)
{
	char text[CIDR_TEXT_BYTES];

	if (r->target == TARGET_ANY) {
		json_str(w, "any");
		return;
	}
	json_begin_object(w);
	switch (r->target) {
	case TARGET_GROUP:
		json_key_str(w, "group", addr_group_name(r->group));
		break;
	case TARGET_CIDR:
		cidr_format(&r->cidr, text);
		json_key_str(w, "cidr", text);
		break;
	case TARGET_DOMAIN:
		json_key_str(w, "domain", r->name);
		break;
	case TARGET_SUFFIX:
		json_key_str(w, "domain_suffix", r->name);
		break;
	case TARGET_ANY:
		break;
	}
	json_end_object(w);
}

static void write_rule(const struct rule *r, struct json_writer *w)
{
	json_begin_object(w);
	json_key_str(w, "action", action_name(r->action));
	json_key(w, "destination");
	write_destination(r, w);
	json_key_str(w, "direction", direction_name[r->direction]);
	json_key(w, "ports");
	json_begin_array(w);
	for (unsigned i = 0; i < r->n_ports; i++) {
		json_begin_object(w);
		json_key_int(w, "end", r->port[i].end);
		json_key_int(w, "start", r->port[i].start);
		json_end_object(w);
	}
	json_end_array(w);
	json_key(w, "protocols");
	json_begin_array(w);
	for (unsigned bit = 1; bit < 1u << PROTO_COUNT; bit <<= 1)
		if (r->protocols & bit)
			json_str(w, proto_name(bit));
	json_end_array(w);
	json_end_object(w);
}

static void write_dns(const struct policy *p, struct json_writer *w)
{
	json_key(w, "dns");
	json_begin_object(w);
	json_key(w, "nameservers");
	json_begin_array(w);
	for (size_t i = 0; i < p->n_nameservers; i++)
		json_str(w, p->nameserver[i]);
	json_end_array(w);
	json_key_int(w, "query_timeout_ms", p->query_timeout_ms);
	json_key_bool(w, "rebind_protection", p->rebind_protection);
	json_end_object(w);
}

static void write_interface(const struct policy *p, struct json_writer *w)
{
	char v4[CIDR_TEXT_BYTES], v6[CIDR_TEXT_BYTES];

	cidr_format(&p->ipv4_pool, v4);
	cidr_format(&p->ipv6_pool, v6);
	json_key(w, "interface");
	json_begin_object(w);
	if (strcmp(v4, POLICY_IPV4_POOL) != 0)
		json_key_str(w, "ipv4_pool", v4);
	if (strcmp(v6, POLICY_IPV6_POOL) != 0)
		json_key_str(w, "ipv6_pool", v6);
	json_end_object(w);
}

static void write_rate(const char *key, const struct rate_limit *r, struct json_writer *w)
{
	if (!r->amount)
		return;
	json_key(w, key);
	json_begin_object(w);
	json_key_int(w, "amount", (int64_t)r->amount);
	json_key_int(w, "burst", (int64_t)r->burst);
	json_key_int(w, "interval_ms", r->interval_ms);
	json_end_object(w);
}

void policy_write_json(const struct policy *p, struct json_writer *w)
{
	const struct policy_rates *r = &p->rates;

	json_begin_object(w);
	write_dns(p, w);
	write_interface(p, w);
	json_key_int(w, "max_connections", p->max_connections);
	json_key(w, "policy");
	json_begin_object(w);
	json_key_str(w, "default_egress", action_name(p->default_egress));
	json_key_str(w, "default_ingress", action_name(p->default_ingress));
	json_key(w, "rules");
	json_begin_array(w);
	for (size_t i = 0; i < p->n_rules; i++)
		write_rule(&p->rule[i], w);
	json_end_array(w);
	json_end_object(w);
	if (r->egress_bandwidth.amount || r->egress_ops.amount || r->ingress_bandwidth.amount ||
	    r->ingress_ops.amount) {
		json_key(w, "rates");
		json_begin_object(w);
		write_rate("egress_bandwidth", &r->egress_bandwidth, w);
		write_rate("egress_ops", &r->egress_ops, w);
		write_rate("ingress_bandwidth", &r->ingress_bandwidth, w);
		write_rate("ingress_ops", &r->ingress_ops, w);
		json_end_object(w);
	}
	json_key_bool(w, "strict", p->strict);
	json_end_object(w);
}

/* --- reading -------------------------------------------------------------------------------- */

static int read_action(const char *path, const char *s, enum policy_action *ret, struct err *e)
{
	if (strcmp(s, "allow") != 0 && strcmp(s, "deny") != 0)
		return err_set(e, ERR_INVALID, "%s: expected allow or deny, got '%.64s'", path, s);
	*ret = s[0] == 'a' ? POLICY_ALLOW : POLICY_DENY;
	return 0;
}

static int read_named(const char *path, const char *s, enum rule_target target, struct rule *r,
		      struct err *e)
{
	if (name_normalise(str_of(s), NAME_HOST, r->name) < 0 ||
	    (target == TARGET_SUFFIX && !strchr(r->name, '.')))
		return err_set(e, ERR_INVALID, "%s: bad name '%.64s'", path, s);
	r->target = target;
	return 0;
}

static int read_destination(const struct json_value *v, struct rule *r, struct err *e)
{
	const char *path = "policy.rules.destination", *s;

	if (v->type == JSON_STRING && str_eq(v->string, "any")) {
		r->target = TARGET_ANY;
		return 0;
	}
	if (v->type != JSON_OBJECT || v->object.n != 1)
		return err_set(e, ERR_INVALID, "%s: expected \"any\" or an object with one member",
			       path);
	if ((s = json_get_str(v, "group", NULL))) {
		r->target = TARGET_GROUP;
		if (addr_group_parse(str_of(s), &r->group) < 0)
			return err_set(e, ERR_INVALID, "%s: unknown group '%.64s'", path, s);
		return 0;
	}
	if ((s = json_get_str(v, "cidr", NULL))) {
		r->target = TARGET_CIDR;
		if (cidr_parse(str_of(s), &r->cidr) < 0)
			return err_set(e, ERR_INVALID, "%s: bad prefix '%.64s'", path, s);
		return 0;
	}
	if ((s = json_get_str(v, "domain", NULL)))
		return read_named(path, s, TARGET_DOMAIN, r, e);
	if ((s = json_get_str(v, "domain_suffix", NULL)))
		return read_named(path, s, TARGET_SUFFIX, r, e);
	return err_set(e, ERR_INVALID, "%s: expected group, cidr, domain or domain_suffix", path);
}

struct port_json {
	int64_t start, end;
};

static int read_ports(const struct json_value *v, struct rule *r, struct err *e)
{
	static const struct json_field fields[] = {
		FIELD_INT(struct port_json, start, JSON_REQUIRED, 0, UINT16_MAX),
		FIELD_INT(struct port_json, end, JSON_REQUIRED, 0, UINT16_MAX),
	};

	if (!v)
		return 0;
	if (v->type != JSON_ARRAY || v->array.n > RULE_PORTS_MAX)
		return err_set(e, ERR_INVALID, "policy.rules.ports: expected at most %u ranges",
			       RULE_PORTS_MAX);
	for (size_t i = 0; i < v->array.n; i++) {
		struct port_json port;

		if (json_decode(&v->array.item[i], "policy.rules.ports", fields, ARRAY_SIZE(fields),
				false, &port, e) < 0)
			return -1;
		if (port.start > port.end)
			return err_set(e, ERR_INVALID, "policy.rules.ports: start beyond end");
		r->port[r->n_ports++] =
			(struct port_range){ (uint16_t)port.start, (uint16_t)port.end };
	}
	return 0;
}

static int read_protocols(const struct json_value *v, struct rule *r, struct err *e)
{
	if (!v)
		return 0;
	if (v->type != JSON_ARRAY)
		return err_set(e, ERR_INVALID, "policy.rules.protocols: expected an array");
	for (size_t i = 0; i < v->array.n; i++) {
		unsigned bit = 1;

		while (bit < 1u << PROTO_COUNT &&
		       !(v->array.item[i].type == JSON_STRING &&
			 str_eq(v->array.item[i].string, proto_name(bit))))
			bit <<= 1;
		if (bit == 1u << PROTO_COUNT)
			return err_set(
				e, ERR_INVALID,
				"policy.rules.protocols: expected tcp, udp, icmpv4 or icmpv6");
		r->protocols |= bit;
	}
	return 0;
}

struct rule_json {
	const char *action, *direction;
	const struct json_value *destination, *ports, *protocols;
};

static int read_rule(const struct json_value *v, struct rule *r, struct err *e)
{
	static const struct json_field fields[] = {
		FIELD_STR(struct rule_json, action, JSON_REQUIRED),
		FIELD_VALUE(struct rule_json, destination, JSON_REQUIRED),
		FIELD_STR(struct rule_json, direction, JSON_OPTIONAL),
		FIELD_VALUE(struct rule_json, ports, JSON_OPTIONAL),
		FIELD_VALUE(struct rule_json, protocols, JSON_OPTIONAL),
	};
	struct rule_json j = { .direction = "egress" };
	unsigned d = 0;

	*r = (struct rule){ 0 };
	if (json_decode(v, "policy.rules", fields, ARRAY_SIZE(fields), false, &j, e) < 0 ||
	    read_action("policy.rules.action", j.action, &r->action, e) < 0)
		return -1;
	while (d < ARRAY_SIZE(direction_name) && strcmp(j.direction, direction_name[d]) != 0)
		d++;
	if (d == ARRAY_SIZE(direction_name))
		return err_set(e, ERR_INVALID,
			       "policy.rules.direction: expected egress, ingress or any");
	r->direction = (enum policy_direction)d;
	if (read_destination(j.destination, r, e) < 0 || read_protocols(j.protocols, r, e) < 0 ||
	    read_ports(j.ports, r, e) < 0)
		return -1;
	return 0;
}

struct rules_json {
	const char *default_egress, *default_ingress;
	const struct json_value *rules;
};

static int read_rules(const struct json_value *v, struct policy *p, struct err *e)
{
	static const struct json_field fields[] = {
		FIELD_STR(struct rules_json, default_egress, JSON_REQUIRED),
		FIELD_STR(struct rules_json, default_ingress, JSON_REQUIRED),
		FIELD_VALUE(struct rules_json, rules, JSON_OPTIONAL),
	};
	struct rules_json j = { 0 };

	if (!v)
		return 0;
	if (json_decode(v, "policy", fields, ARRAY_SIZE(fields), false, &j, e) < 0 ||
	    read_action("policy.default_egress", j.default_egress, &p->default_egress, e) < 0 ||
	    read_action("policy.default_ingress", j.default_ingress, &p->default_ingress, e) < 0)
		return -1;
	if (!j.rules)
		return 0;
	if (j.rules->type != JSON_ARRAY)
		return err_set(e, ERR_INVALID, "policy.rules: expected an array");
	for (size_t i = 0; i < j.rules->array.n; i++) {
		struct rule r;

		if (read_rule(&j.rules->array.item[i], &r, e) < 0 || policy_add_rule(p, &r, e) < 0)
			return -1;
	}
	return 0;
}

struct dns_json {
	const struct json_value *nameservers;
	int64_t query_timeout_ms;
	bool rebind_protection;
};

static int read_dns(const struct json_value *v, struct policy *p, struct err *e)
{
	static const struct json_field fields[] = {
		FIELD_VALUE(struct dns_json, nameservers, JSON_OPTIONAL),
		FIELD_INT(struct dns_json, query_timeout_ms, JSON_OPTIONAL, 1,
			  POLICY_QUERY_TIMEOUT_LIMIT_MS),
		FIELD_BOOL(struct dns_json, rebind_protection, JSON_OPTIONAL),
	};
	struct dns_json j = { NULL, p->query_timeout_ms, p->rebind_protection };

	if (!v)
		return 0;
	if (json_decode(v, "dns", fields, ARRAY_SIZE(fields), false, &j, e) < 0)
		return -1;
	p->query_timeout_ms = (uint32_t)j.query_timeout_ms;
	p->rebind_protection = j.rebind_protection;
	if (!j.nameservers)
		return 0;
	if (j.nameservers->type != JSON_ARRAY || j.nameservers->array.n > POLICY_NAMESERVERS_MAX)
		return err_set(e, ERR_INVALID, "dns.nameservers: expected at most %u",
			       POLICY_NAMESERVERS_MAX);
	for (size_t i = 0; i < j.nameservers->array.n; i++) {
		const struct json_value *s = &j.nameservers->array.item[i];

		if (s->type != JSON_STRING || s->string.n >= POLICY_NAMESERVER_BYTES ||
		    memchr(s->string.p, '\0', s->string.n))
			return err_set(e, ERR_INVALID, "dns.nameservers: expected short strings");
		memcpy(p->nameserver[i], s->string.p, s->string.n + 1);
	}
	p->n_nameservers = j.nameservers->array.n;
	return 0;
}

static int read_pool(const struct json_value *v, const char *key, enum addr_family family,
		     unsigned max_len, struct cidr *pool, struct err *e)
{
	const char *s = json_get_str(v, key, NULL);
	struct cidr c;

	if (!s)
		return 0;
	if (cidr_parse(str_of(s), &c) < 0 || c.net.family != family || c.len > max_len)
		return err_set(e, ERR_INVALID, "interface.%s: bad pool '%.64s'", key, s);
	*pool = c;
	return 0;
}

struct rate_json {
	int64_t amount, burst, interval_ms;
};

static int read_rate(const struct json_value *rates, const char *key, struct rate_limit *ret,
		     struct err *e)
{
	static const struct json_field fields[] = {
		FIELD_INT(struct rate_json, amount, JSON_REQUIRED, 1, 1ll << 50),
		FIELD_INT(struct rate_json, burst, JSON_OPTIONAL, 0, 1ll << 50),
		FIELD_INT(struct rate_json, interval_ms, JSON_REQUIRED, 1, 24 * 3600 * 1000),
	};
	const struct json_value *v = json_get(rates, key);
	struct rate_json j = { 0 };

	if (!v || v->type == JSON_NULL)
		return 0;
	if (json_decode(v, key, fields, ARRAY_SIZE(fields), false, &j, e) < 0)
		return -1;
	*ret = (struct rate_limit){ (uint64_t)j.amount, (uint32_t)j.interval_ms,
				    (uint64_t)j.burst };
	return 0;
}

static int read_rates(const struct json_value *v, struct policy_rates *r, struct err *e)
{
	if (read_rate(v, "egress_bandwidth", &r->egress_bandwidth, e) < 0 ||
	    read_rate(v, "egress_ops", &r->egress_ops, e) < 0 ||
	    read_rate(v, "ingress_bandwidth", &r->ingress_bandwidth, e) < 0 ||
	    read_rate(v, "ingress_ops", &r->ingress_ops, e) < 0)
		return err_wrap(e, "rates");
	return 0;
}

struct network_json {
	const struct json_value *dns, *interface, *policy, *rates;
	int64_t max_connections;
	bool strict;
};

static int read_members(const struct json_value *v, struct policy *p, struct err *e)
{
	static const struct json_field fields[] = {
		FIELD_VALUE(struct network_json, dns, JSON_OPTIONAL),
		FIELD_VALUE(struct network_json, interface, JSON_OPTIONAL),
		FIELD_INT(struct network_json, max_connections, JSON_OPTIONAL, 1,
			  POLICY_CONNECTIONS_LIMIT),
		FIELD_VALUE(struct network_json, policy, JSON_OPTIONAL),
		FIELD_VALUE(struct network_json, rates, JSON_OPTIONAL),
		FIELD_BOOL(struct network_json, strict, JSON_OPTIONAL),
	};
	struct network_json j = { .max_connections = p->max_connections };

	if (json_decode(v, "network", fields, ARRAY_SIZE(fields), false, &j, e) < 0 ||
	    read_rules(j.policy, p, e) < 0 || read_dns(j.dns, p, e) < 0 ||
	    read_pool(j.interface, "ipv4_pool", ADDR_V4, 30, &p->ipv4_pool, e) < 0 ||
	    read_pool(j.interface, "ipv6_pool", ADDR_V6, 64, &p->ipv6_pool, e) < 0 ||
	    read_rates(j.rates, &p->rates, e) < 0)
		return -1;
	p->max_connections = (uint32_t)j.max_connections;
	p->strict = j.strict;
	return 0;
}

int policy_read_json(const struct json_value *v, struct policy *p, struct err *e)
{
	policy_init(p);
	if (read_members(v, p, e) < 0) {
		policy_done(p);
		policy_init(p); /* a policy that could not be read denies everything */
		return -1;
	}
	return 0;
}
