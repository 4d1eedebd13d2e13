#include "gateway/denials.h"

#include <stdio.h>
#include <string.h>

void denials_reset(struct denials *d)
{
	*d = (struct denials){ .refusals = d->refusals };
}

/* Returns true if KEY is new. If the table is full, returns true for one more new KEY, and false
 * for all later keys. */
static bool is_news(struct denials *d, const char *key)
{
	uint64_t h = 0xcbf29ce484222325ull;
	size_t at;

	for (const char *s = key; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
	h |= 1; /* 0 marks an empty slot */
	at = (size_t)(h >> 20) % (2 * DENIALS_MAX);
	while (d->seen[at] && d->seen[at] != h)
		at = (at + 1) % (2 * DENIALS_MAX);
	if (d->seen[at] || d->n > DENIALS_MAX)
		return false;
	d->n++;
	if (d->n <= DENIALS_MAX)
		d->seen[at] = h;
	return true;
}

static void note(struct denials *d, const char *what, const char *rule)
{
	if (d->refusals)
		refusals_add(d->refusals, what, rule);
}

static bool close_list(const struct denials *d, char text[DENIAL_TEXT_BYTES])
{
	if (d->n <= DENIALS_MAX)
		return false;
	snprintf(text, DENIAL_TEXT_BYTES,
		 "more than %u different refusals; further ones are only counted", DENIALS_MAX);
	return true;
}

static void rule_text(const struct policy *p, struct verdict v, enum policy_direction dir,
		      char out[RULE_TEXT_BYTES])
{
	if (v.rule == POLICY_BY_DEFAULT)
		snprintf(out, RULE_TEXT_BYTES, "default %s deny",
			 dir == POLICY_EGRESS ? "egress" : "ingress");
	else
		rule_format(&p->rule[v.rule], out);
}

/* Writes "10.0.0.5:22" or "[::1]:22", or only the address for ICMP. */
static void peer_text(const struct policy_flow *f, char out[ADDR_TEXT_BYTES + 10])
{
	char addr[ADDR_TEXT_BYTES];
	bool v6 = f->peer.family == ADDR_V6;

	addr_format(&f->peer, addr);
	if (f->proto & (PROTO_TCP | PROTO_UDP))
		snprintf(out, ADDR_TEXT_BYTES + 10, "%s%s%s:%u", v6 ? "[" : "", addr, v6 ? "]" : "",
			 f->port);
	else
		snprintf(out, ADDR_TEXT_BYTES + 10, "%s", addr);
}

/* Writes the value of the option `--net-rule` that would allow this flow. */
static void allow_text(const struct policy_flow *f, const char *name, char out[RULE_TEXT_BYTES])
{
	struct rule r = { .action = POLICY_ALLOW,
			  .direction = f->direction,
			  .protocols = f->proto };

	if (name) {
		r.target = TARGET_DOMAIN;
		snprintf(r.name, sizeof(r.name), "%s", name);
	} else {
		r.target = TARGET_CIDR;
		r.cidr = (struct cidr){ f->peer, f->peer.family == ADDR_V4 ? 32 : 128 };
	}
	if (f->proto & (PROTO_TCP | PROTO_UDP)) {
		r.n_ports = 1;
		r.port[0] = (struct port_range){ f->port, f->port };
	}
	rule_format(&r, out);
}

bool denials_add_flow(struct denials *d, const struct policy *p, const struct policy_flow *f,
		      struct verdict v, const char *name, char text[DENIAL_TEXT_BYTES])
{
	char peer[ADDR_TEXT_BYTES + 10], rule[RULE_TEXT_BYTES], allow[RULE_TEXT_BYTES], key[192];
	const char *shown = f->authority ? f->authority : name;

	peer_text(f, peer);
	allow_text(f, shown, allow);
	if (f->direction == POLICY_EGRESS)
		note(d, peer, allow);
	snprintf(key, sizeof(key), "%d %s %s", (int)f->direction, proto_name(f->proto), peer);
	if (!is_news(d, key))
		return false;
	if (close_list(d, text))
		return true;
	rule_text(p, v, f->direction, rule);
	snprintf(text, DENIAL_TEXT_BYTES,
		 "denied %s %s %s%s%s%s: rule '%s'; to allow it: modify --net-rule-add %s",
		 proto_name(f->proto), f->direction == POLICY_EGRESS ? "to" : "from", peer,
		 shown ? " (" : "", shown ? shown : "", shown ? ")" : "", rule, allow);
	return true;
}

bool denials_add_query(struct denials *d, const struct policy *p, const char *name,
		       struct verdict v, char text[DENIAL_TEXT_BYTES])
{
	char rule[RULE_TEXT_BYTES], allow[RULE_TEXT_BYTES], key[300];

	snprintf(allow, sizeof(allow), "allow@%s%s", strchr(name, '.') ? "" : "domain=", name);
	note(d, name, allow);
	snprintf(key, sizeof(key), "name %s", name);
	if (!is_news(d, key))
		return false;
	if (close_list(d, text))
		return true;
	rule_text(p, v, POLICY_EGRESS, rule);
	snprintf(text, DENIAL_TEXT_BYTES,
		 "denied name %s: rule '%s'; to allow it: modify --net-rule-add %s", name, rule,
		 allow);
	return true;
}

bool denials_add_answer(struct denials *d, const char *name, const struct addr *a,
			char text[DENIAL_TEXT_BYTES])
{
	char addr[ADDR_TEXT_BYTES], allow[RULE_TEXT_BYTES], key[360];
	bool v6 = a->family == ADDR_V6;

	addr_format(a, addr);
	snprintf(allow, sizeof(allow), "allow@%s%s%s", v6 ? "[" : "", addr, v6 ? "]" : "");
	note(d, name, allow);
	snprintf(key, sizeof(key), "answer %s %s", name, addr);
	if (!is_news(d, key))
		return false;
	if (close_list(d, text))
		return true;
	snprintf(text, DENIAL_TEXT_BYTES,
		 "denied answer %s for name %s: rebind protection; to allow it: modify "
		 "--net-rule-add %s",
		 addr, name, allow);
	return true;
}

bool denials_add_other(struct denials *d, const char *what, const char *why,
		       char text[DENIAL_TEXT_BYTES])
{
	char key[400];

	note(d, what, "");
	snprintf(key, sizeof(key), "other %s %s", what, why);
	if (!is_news(d, key))
		return false;
	if (!close_list(d, text))
		snprintf(text, DENIAL_TEXT_BYTES, "denied %s: %s", what, why);
	return true;
}
