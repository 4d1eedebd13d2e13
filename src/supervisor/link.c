/*
 * Connects the network of a sandbox (network.c) with the life cycle of the sandbox (life.c).
 *
 * A start with published ports is over when the gateway has bound the ports. So a user may connect
 * as soon as `create` returns, and `create` fails if a port is taken. A start without published
 * ports does not wait for a gateway.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/program.h"
#include "spec/config.h"
#include "supervisor/network.h"
#include "supervisor/supervisor.h"

static void on_denied(void *arg, const char *text)
{
	struct supervisor *s = arg;

	execlog_add(&s->log, 0, LOG_NET, text, strlen(text));
}

static void on_born(void *arg, pid_t pid)
{
	struct supervisor *s = arg;

	s->engine->adopt(s, pid);
}

/* PORTS is from the gateway's message: the published ports, in the order of the spec. Copies the
 * port numbers of the host into the state of the sandbox. */
static void keep_ports(struct supervisor *s, const struct json_value *ports)
{
	struct state *state = &s->record.state;
	size_t n = ports && ports->type == JSON_ARRAY ? ports->array.n : 0;

	state->n_ports = 0;
	for (size_t i = 0; i < n && i < s->record.spec.n_ports && i < STATE_PORTS_MAX; i++)
		state->host_port[state->n_ports++] =
			(uint16_t)json_get_int(&ports->array.item[i], "host_port", 0);
}

static void on_started(void *arg, const struct json_value *ports, const struct err *failure)
{
	struct supervisor *s = arg;

	if (!failure) {
		s->gateway_failed = false;
		keep_ports(s, ports);
		if (s->record.spec.n_ports > 0)
			supervisor_gateway_up(s);
		return;
	}
	if (s->life == LIFE_STARTING) {
		supervisor_fail(s, failure);
		return;
	}
	/* the gateway is started again and again, but its failure is logged once */
	if (!s->gateway_failed)
		execlog_add(&s->log, 0, LOG_NET, failure->msg, strlen(failure->msg));
	s->gateway_failed = true;
}

/* Reads the addresses of the host from the configuration of the home at each start, because they
 * belong to the machine, not to the sandbox. */
static int read_host_addresses(struct supervisor *s, struct err *e)
{
	struct config c;

	if (config_load(s->home.path, &c, e) < 0)
		return -1;
	network_set_host_addresses(s->network, c.host_address, c.n_host_addresses);
	config_done(&c);
	return 0;
}

int link_prepare(struct supervisor *s, struct err *e)
{
	struct network_events events = {
		.denied = on_denied, .born = on_born, .started = on_started, .arg = s
	};
	AUTO_FREE char *program = NULL;

	if (!s->record.spec.net_enabled)
		return 0;
	if (program_ours("cordon-gateway", &program, e) < 0 ||
	    network_new(s->loop, &s->record.spec, program, &events, &s->network, e) < 0)
		return -1;
	return read_host_addresses(s, e);
}

int link_open(struct supervisor *s, bool *ret_waits, struct err *e)
{
	int link;

	*ret_waits = false;
	if (!s->network)
		return 0;
	if (s->engine->link(s, &link, e) < 0 || network_set_link(s->network, link, e) < 0)
		return err_wrap(e, "network");
	*ret_waits = s->record.spec.n_ports > 0;
	return 0;
}

int link_read_policy(struct supervisor *s, const struct spec *now, struct policy *ret,
		     struct err *e)
{
	if (!s->network)
		return err_set(e, ERR_UNSUPPORTED,
			       "a sandbox without a network gets one at its next start");
	return network_read_policy(now, ret, e) < 0 ? err_wrap(e, "network") : 0;
}

void link_count(const struct supervisor *s, struct usage_message *u)
{
	struct network_counters c = { 0 };

	if (s->network)
		c = network_count(s->network);
	u->net_rx_bytes = c.rx_bytes;
	u->net_tx_bytes = c.tx_bytes;
}

void link_close(struct supervisor *s)
{
	if (s->network)
		s->old_link = network_end(s->network);
	network_free(TAKE(s->network));
}
