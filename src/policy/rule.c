#include "policy/rule.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

static const char *const proto_names[PROTO_COUNT] = { "tcp", "udp", "icmpv4", "icmpv6" };

const char *proto_name(enum policy_proto p)
{
	for (unsigned i = 0; i < PROTO_COUNT; i++)
		if (p == 1u << i)
			return proto_names[i];
	return "any";
}

struct rule rule_allow_dns(void)
{
	return (struct rule){ .action = POLICY_ALLOW,
			      .target = TARGET_GROUP,
			      .group = GROUP_HOST,
			      .protocols = PROTO_UDP | PROTO_TCP,
			      .n_ports = 1,
			      .port = { { DNS_PORT, DNS_PORT } } };
}

struct rule rule_allow_group(enum addr_group g)
{
	return (struct rule){ .action = POLICY_ALLOW, .target = TARGET_GROUP, .group = g };
}

static bool is_dns(const struct rule *r)
{
	return r->target == TARGET_GROUP && r->group == GROUP_HOST &&
	       r->direction == POLICY_EGRESS && r->n_ports == 1 && r->port[0].start == DNS_PORT &&
	       r->port[0].end == DNS_PORT && r->protocols == (PROTO_UDP | PROTO_TCP);
}

bool rule_covers_name(const struct rule *r, const char *name)
{
	return r->target == TARGET_DOMAIN   ? strcmp(r->name, name) == 0
	       : r->target == TARGET_SUFFIX ? name_is_under(name, r->name)
					    : false;
}

bool rule_covers_port(const struct rule *r, enum policy_proto proto, uint16_t port)
{
	if (r->protocols && !(r->protocols & proto))
		return false;
	if (r->n_ports == 0)
		return true;
	if (!(proto & (PROTO_TCP | PROTO_UDP)))
		return false; /* a rule with ports does not match ICMP */
	for (unsigned i = 0; i < r->n_ports; i++)
		if (port >= r->port[i].start && port <= r->port[i].end)
			return true;
	return false;
}

static void format_target(const struct rule *r, struct buf *b)
{
	char text[CIDR_TEXT_BYTES];

	switch (r->target) {
	case TARGET_ANY:
		buf_add_str(b, "any");
		break;
	case TARGET_GROUP:
		buf_add_str(b, addr_group_name(r->group));
		break;
	case TARGET_CIDR:
		cidr_format(&r->cidr, text);
		buf_addf(b, r->cidr.net.family == ADDR_V6 ? "[%s]" : "%s", text);
		break;
	case TARGET_DOMAIN:
		buf_addf(b, strchr(r->name, '.') ? "%s" : "domain=%s", r->name);
		break;
	case TARGET_SUFFIX:
		buf_addf(b, "*.%s", r->name);
		break;
	}
}

static void format_scope(const struct rule *r, struct buf *b)
{
	if (!rule_is_scoped(r))
		return;
	buf_add_char(b, ':');
	if (!r->protocols)
		buf_add_str(b, "any");
	for (unsigned i = 0, n = 0; i < PROTO_COUNT; i++)
		if (r->protocols & 1u << i)
			buf_addf(b, "%s%s", n++ ? "+" : "", proto_names[i]);
	for (unsigned i = 0; i < r->n_ports; i++) {
		buf_addf(b, "%c%u", i ? '+' : ':', r->port[i].start);
		if (r->port[i].end != r->port[i].start)
			buf_addf(b, "-%u", r->port[i].end);
	}
}

void rule_format(const struct rule *r, char out[RULE_TEXT_BYTES])
{
	static const char *const dir[] = {
		[POLICY_EGRESS] = "", [POLICY_INGRESS] = ":ingress", [POLICY_BOTH] = ":any"
	};
	AUTO_BUF b = BUF_INIT(RULE_TEXT_BYTES - 1);

	buf_addf(&b, "%s%s@", r->action == POLICY_ALLOW ? "allow" : "deny", dir[r->direction]);
	if (is_dns(r)) {
		buf_add_str(&b, "dns");
	} else {
		format_target(r, &b);
		format_scope(r, &b);
	}
	snprintf(out, RULE_TEXT_BYTES, "%s", buf_str(&b));
}
