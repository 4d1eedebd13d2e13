/* Parses HOST:GUEST, ADDR:HOST:GUEST or [V6]:HOST:GUEST, optionally with /tcp or /udp. */
#include "spec/grammar.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "spec/bad.h"
#include "spec/list.h"

/* with this default, other machines reach a port only if the user gives ADDR */
#define PORT_DEFAULT_BIND "127.0.0.1"

#define BAD(e, value, ...) bad_value(e, "--port", "port", value, __VA_ARGS__)

/* Splits TEXT into the address and the rest. *RET_ADDR is NULL if TEXT has no address. *RET_REST is
 * HOST:GUEST. */
static int cut_address(char *text, const char *value, char **ret_addr, char **ret_rest,
		       struct err *e)
{
	struct in6_addr a;
	char *first = strchr(text, ':'), *last = strrchr(text, ':'), *end;

	if (*text == '[') {
		end = strchr(text, ']');
		if (!end || end[1] != ':')
			return BAD(e, value, "expected [ADDRESS]:HOST:GUEST");
		*end = '\0';
		if (inet_pton(AF_INET6, text + 1, &a) != 1)
			return BAD(e, value, "'%.64s' is not an IPv6 address", text + 1);
		*ret_addr = text + 1;
		*ret_rest = end + 2;
		return 0;
	}
	if (!first)
		return BAD(e, value, "expected HOST:GUEST, for instance 8080:80");
	*ret_addr = NULL;
	*ret_rest = text;
	if (first == last)
		return 0;
	if (strchr(first + 1, ':') != last)
		return BAD(e, value,
			   "expected ADDRESS:HOST:GUEST; write IPv6 addresses in brackets");
	*first = '\0';
	if (inet_pton(AF_INET, text, &a) != 1)
		return BAD(e, value, "'%.64s' is not an IPv4 address", text);
	*ret_addr = text;
	*ret_rest = first + 1;
	return 0;
}

static int parse_port(char *text, const char *value, struct spec_port *ret, struct err *e)
{
	char *slash = strrchr(text, '/'), *addr = NULL, *ports = NULL, *guest;
	uint64_t h, g;

	if (slash) {
		*slash++ = '\0';
		if (strcmp(slash, "tcp") != 0 && strcmp(slash, "udp") != 0)
			return BAD(e, value, "unknown protocol '%.32s', use tcp or udp", slash);
	}
	if (cut_address(text, value, &addr, &ports, e) < 0)
		return -1;
	guest = strchr(ports, ':');
	if (!guest)
		return BAD(e, value, "expected HOST:GUEST, for instance 8080:80");
	*guest++ = '\0';
	if (parse_u64(ports, 0, UINT16_MAX, &h) < 0)
		return BAD(e, value, "host port '%.32s' is not a number from 0 to 65535", ports);
	if (parse_u64(guest, 1, UINT16_MAX, &g) < 0)
		return BAD(e, value, "guest port '%.32s' is not a number from 1 to 65535", guest);
	*ret = (struct spec_port){
		.bind = xstrdup(addr ? addr : PORT_DEFAULT_BIND),
		.host_port = (uint16_t)h,
		.guest_port = (uint16_t)g,
		.udp = slash && *slash == 'u',
	};
	return 0;
}

int spec_add_port(struct spec *s, const char *value, struct err *e)
{
	AUTO_FREE char *text = xstrdup(value);
	struct spec_port p;

	if (parse_port(text, value, &p, e) < 0)
		return -1;
	for (size_t i = 0; i < s->n_ports; i++) {
		const struct spec_port *q = &s->port[i];

		if (p.host_port == 0 || q->host_port != p.host_port || q->udp != p.udp ||
		    strcmp(q->bind, p.bind) != 0)
			continue;
		free(p.bind);
		return BAD(e, value, "host port %u is published twice", p.host_port);
	}
	*LIST_ADD(s->port, s->n_ports) = p;
	return 0;
}
