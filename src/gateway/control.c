#include "gateway/control.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "gateway/gateway.h"

int control_receive(int fd, struct json_doc **ret, struct err *e)
{
	AUTO_FREE char *text = xcalloc(1, CONTROL_MESSAGE_MAX);
	ssize_t n;

	do
		n = recv(fd, text, CONTROL_MESSAGE_MAX, MSG_TRUNC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_sys(e, errno, "control channel");
	if (n == 0)
		return err_set(e, ERR_PROTOCOL, "control channel: the supervisor is gone");
	if ((size_t)n > CONTROL_MESSAGE_MAX)
		return err_set(e, ERR_LIMIT, "control channel: message of %zd bytes", n);
	return json_parse(text, (size_t)n, ret, e);
}

/* Sends without waiting. If the supervisor does not read, messages are lost, but the network
 * goes on working. */
static void send_text(struct control *c, const struct buf *b)
{
	if (buf_failed(b) || send(c->fd, buf_str(b), b->n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		c->lost++;
}

static void begin(struct json_writer *w, struct buf *b, const char *type)
{
	json_writer_init(w, b, 0);
	json_begin_object(w);
	json_key_str(w, "type", type);
}

void control_send_ready(struct control *c, const struct gateway_config *config)
{
	AUTO_BUF b = BUF_INIT(CONTROL_MESSAGE_MAX);
	struct json_writer w;

	begin(&w, &b, "ready");
	json_key(&w, "ports");
	json_begin_array(&w);
	for (size_t i = 0; i < config->n_ports; i++) {
		const struct published *p = &config->port[i];
		char bind[ADDR_TEXT_BYTES];

		addr_format(&p->bind, bind);
		json_begin_object(&w);
		json_key_int(&w, "guest_port", p->guest_port);
		json_key_str(&w, "host_bind", bind);
		json_key_int(&w, "host_port", p->host_port);
		json_key_str(&w, "protocol", p->udp ? "udp" : "tcp");
		json_end_object(&w);
	}
	json_end_array(&w);
	json_end_object(&w);
	send_text(c, &b);
}

void control_send_error(struct control *c, const struct err *e)
{
	AUTO_BUF b = BUF_INIT(CONTROL_MESSAGE_MAX);
	struct json_writer w;

	begin(&w, &b, "error");
	json_key_str(&w, "code", err_code_name(e->code));
	json_key_str(&w, "text", e->msg);
	json_end_object(&w);
	send_text(c, &b);
}

void control_send_denied(struct control *c, const char *text)
{
	AUTO_BUF b = BUF_INIT(CONTROL_MESSAGE_MAX);
	struct json_writer w;

	begin(&w, &b, "denied");
	json_key_str(&w, "text", text);
	json_end_object(&w);
	send_text(c, &b);
}

static void send_counters(struct gateway *g)
{
	static const char *const fault_name[] = { NULL,      "short",    "type",    "header",
						  "options", "fragment", "protocol" };
	const struct counters *n = &g->counters;
	AUTO_BUF b = BUF_INIT(CONTROL_MESSAGE_MAX);
	struct json_writer w;

	_Static_assert(ARRAY_SIZE(fault_name) == FAULT_COUNT, "a fault has no name");
	begin(&w, &b, "counters");
	json_key_int(&w, "rx_bytes", (int64_t)n->rx_bytes);
	json_key_int(&w, "rx_packets", (int64_t)n->rx_packets);
	json_key_int(&w, "tx_bytes", (int64_t)n->tx_bytes);
	json_key_int(&w, "tx_packets", (int64_t)n->tx_packets);
	json_key_int(&w, "connections", (int64_t)n->connections);
	json_key_int(&w, "live", g->flows.n);
	json_key_int(&w, "sockets", stack_sockets(g->stack));
	json_key_int(&w, "denied", (int64_t)n->denied);
	json_key_int(&w, "queries", (int64_t)n->queries);
	json_key_int(&w, "queries_denied", (int64_t)n->queries_denied);
	json_key_int(&w, "spoofed", (int64_t)n->spoofed);
	json_key_int(&w, "dropped", (int64_t)n->dropped);
	json_key(&w, "malformed");
	json_begin_object(&w);
	for (unsigned i = FAULT_NONE + 1; i < FAULT_COUNT; i++)
		json_key_int(&w, fault_name[i], (int64_t)n->fault[i]);
	json_end_object(&w);
	json_end_object(&w);
	send_text(&g->control, &b);
}

static void change_policy(struct gateway *g, const struct json_value *v)
{
	AUTO_BUF b = BUF_INIT(CONTROL_MESSAGE_MAX);
	const struct json_value *network = json_get(v, "network");
	struct json_writer w;
	struct policy p;
	struct err e = { 0 };

	if (!network) {
		err_set(&e, ERR_PROTOCOL, "policy: 'network' is missing");
		control_send_error(&g->control, &e);
		return;
	}
	if (policy_read_json(network, &p, &e) < 0) {
		control_send_error(&g->control, &e); /* the old policy stays in force */
		return;
	}
	gateway_set_policy(g, &p);
	begin(&w, &b, "policy");
	json_end_object(&w);
	send_text(&g->control, &b);
}

void control_handle(struct gateway *g)
{
	AUTO_JSON doc = NULL;
	struct err e = { 0 };
	const char *type;

	if (control_receive(g->control.fd, &doc, &e) < 0) {
		g->quit = e.code == ERR_PROTOCOL || e.code == ERR_SYSTEM;
		if (!g->quit)
			control_send_error(&g->control, &e);
		return;
	}
	type = json_get_str(json_root(doc), "type", "");
	if (strcmp(type, "quit") == 0) {
		g->quit = true;
	} else if (strcmp(type, "policy") == 0) {
		change_policy(g, json_root(doc));
	} else if (strcmp(type, "counters") == 0) {
		send_counters(g);
	} else {
		err_set(&e, ERR_PROTOCOL, "unknown message '%.64s'", type);
		control_send_error(&g->control, &e);
	}
}
