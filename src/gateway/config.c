#include "gateway/config.h"

#include <string.h>

#include "base/cleanup.h"

struct port_json {
	const char *host_bind, *protocol;
	int64_t host_port, guest_port;
};

static int read_port(const struct json_value *v, struct published *ret, struct err *e)
{
	static const struct json_field fields[] = {
		FIELD_STR(struct port_json, host_bind, JSON_OPTIONAL),
		FIELD_INT(struct port_json, host_port, JSON_REQUIRED, 0, UINT16_MAX),
		FIELD_INT(struct port_json, guest_port, JSON_REQUIRED, 1, UINT16_MAX),
		FIELD_STR(struct port_json, protocol, JSON_OPTIONAL),
	};
	struct port_json j = { .host_bind = "127.0.0.1", .protocol = "tcp" };

	if (json_decode(v, "ports", fields, ARRAY_SIZE(fields), false, &j, e) < 0)
		return -1;
	*ret = (struct published){ .host_port = (uint16_t)j.host_port,
				   .guest_port = (uint16_t)j.guest_port,
				   .udp = strcmp(j.protocol, "udp") == 0 };
	if (addr_parse(str_of(j.host_bind), &ret->bind) < 0)
		return err_set(e, ERR_INVALID, "ports.host_bind: bad address '%.64s'", j.host_bind);
	if (!ret->udp && strcmp(j.protocol, "tcp") != 0)
		return err_set(e, ERR_INVALID, "ports.protocol: expected tcp or udp, got '%.64s'",
			       j.protocol);
	return 0;
}

static int read_ports(const struct json_value *v, struct gateway_config *c, struct err *e)
{
	if (!v)
		return 0;
	if (v->type != JSON_ARRAY || v->array.n > CONFIG_PORTS_MAX)
		return err_set(e, ERR_INVALID, "ports: expected at most %u", CONFIG_PORTS_MAX);
	for (size_t i = 0; i < v->array.n; i++)
		if (read_port(&v->array.item[i], &c->port[c->n_ports++], e) < 0)
			return -1;
	return 0;
}

static int read_host_addresses(const struct json_value *v, struct gateway_config *c, struct err *e)
{
	if (!v)
		return 0;
	if (v->type != JSON_ARRAY || v->array.n > CONFIG_HOST_ADDRESSES_MAX)
		return err_set(e, ERR_INVALID, "host_addresses: expected at most %u",
			       CONFIG_HOST_ADDRESSES_MAX);
	for (size_t i = 0; i < v->array.n; i++) {
		const struct json_value *a = &v->array.item[i];

		if (a->type != JSON_STRING ||
		    cidr_parse(str_of(a->string.p), &c->host_address[c->n_host_addresses++]) < 0)
			return err_set(e, ERR_INVALID, "host_addresses: bad address");
	}
	return 0;
}

struct config_json {
	const struct json_value *lease, *network, *host_addresses, *ports;
	int64_t uid, gid;
};

int config_read(const struct json_value *v, struct gateway_config *c, struct err *e)
{
	static const struct json_field fields[] = {
		FIELD_VALUE(struct config_json, lease, JSON_REQUIRED),
		FIELD_VALUE(struct config_json, network, JSON_REQUIRED),
		FIELD_VALUE(struct config_json, host_addresses, JSON_OPTIONAL),
		FIELD_VALUE(struct config_json, ports, JSON_OPTIONAL),
		FIELD_INT(struct config_json, uid, JSON_OPTIONAL, 1, UINT32_MAX - 1),
		FIELD_INT(struct config_json, gid, JSON_OPTIONAL, 1, UINT32_MAX - 1),
	};
	struct config_json j = { 0 };

	memset(c, 0, sizeof(*c));
	c->resolv_conf = -1;
	policy_init(&c->policy);
	if (json_decode(v, "config", fields, ARRAY_SIZE(fields), false, &j, e) < 0 ||
	    lease_read_json(j.lease, &c->lease, e) < 0 ||
	    policy_read_json(j.network, &c->policy, e) < 0 ||
	    read_host_addresses(j.host_addresses, c, e) < 0 || read_ports(j.ports, c, e) < 0)
		return -1;
	if (!j.uid != !j.gid)
		return err_set(e, ERR_INVALID, "config: uid and gid come together");
	c->has_ids = j.uid != 0;
	c->uid = (uint32_t)j.uid;
	c->gid = (uint32_t)j.gid;
	return 0;
}

void config_done(struct gateway_config *c)
{
	policy_done(&c->policy);
}
