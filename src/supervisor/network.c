/*
 * The states of the gateway of one sandbox:
 *   IDLE      no gateway runs; we wait for a frame on the link, or for the time of the next start
 *   STARTING  the gateway runs and has its configuration; we wait for its first message
 *   SERVING   the gateway has said that it is ready
 *
 * When the gateway ends, the state is IDLE again. Starts are at least RESTART_NS apart: if a frame
 * makes every gateway crash, at most one gateway starts per second.
 */
#include "supervisor/network.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compat.h"
#include "base/spawn.h"
#include "policy/options.h"
#include "wire/refusals.h"

#define RESTART_NS NS_PER_SEC
#define MESSAGE_MAX_BYTES (192u << 10) /* the same as in gateway/control.h */
#define LINK_FD 3
#define CONTROL_FD 4
#define REFUSALS_FD 5
#define RESOLV_CONF_FD 6

enum gateway_state { GATEWAY_IDLE, GATEWAY_STARTING, GATEWAY_SERVING };

struct network {
	struct loop *loop;
	char *program;
	struct network_ids ids;
	struct network_events events;
	struct policy policy;
	struct lease lease;
	struct spec_port *port; /* owned, with its strings */
	size_t n_ports;
	struct cidr *host_address; /* owned */
	size_t n_host_addresses;

	int link;
	int resolv_conf; /* the host's list of resolvers, or -1 */
	int refusals;    /* the memory of wire/refusals.h */
	enum gateway_state state;
	bool told; /* we have told EVENTS whether the start succeeded */
	struct child child;
	int control;
	loop_id link_watch, control_watch, exit_watch, restart_timer;
	uint64_t started_ns;
	/* `now`: the counters of this gateway; `before`: the sum of all gateways before it */
	struct network_counters now, before;
};

/* --- life ------------------------------------------------------------------------------------- */

int network_read_policy(const struct spec *spec, struct policy *p, struct err *e)
{
	static const struct policy_options none;

	if (!spec->net_extra_doc || !json_get(json_root(spec->net_extra_doc), "policy")) {
		if (policy_from_options(&none, p, e) < 0)
			return -1;
	} else if (policy_read_json(json_root(spec->net_extra_doc), p, e) < 0) {
		return -1;
	}
	if (spec->max_connections)
		p->max_connections = spec->max_connections;
	return 0;
}

int network_new(struct loop *loop, const struct spec *spec, const char *program,
		const struct network_events *events, struct network **ret, struct err *e)
{
	struct network *n = xcalloc(1, sizeof(*n));

	n->loop = loop;
	n->link = n->control = n->child.pidfd = n->resolv_conf = n->refusals = -1;
	n->program = xstrdup(program);
	n->events = *events;
	if (network_read_policy(spec, &n->policy, e) < 0) {
		network_free(n);
		return err_wrap(e, "network");
	}
	n->refusals = refusals_new();
	if (n->refusals < 0) {
		int r = n->refusals;

		network_free(n);
		return err_sys(e, -r, "make the memory for refused connections");
	}
	lease_make(&n->policy, spec->name, &n->lease);
	n->n_ports = spec->n_ports;
	n->port = xcalloc(spec->n_ports + 1, sizeof(*n->port));
	for (size_t i = 0; i < spec->n_ports; i++) {
		n->port[i] = spec->port[i];
		n->port[i].bind = spec->port[i].bind ? xstrdup(spec->port[i].bind) : NULL;
	}
	*ret = n;
	return 0;
}

/* Kills the gateway if it still runs, and forgets it. */
static void drop_gateway(struct network *n)
{
	int status;

	loop_remove(n->loop, &n->control_watch);
	loop_remove(n->loop, &n->exit_watch);
	fd_closep(&n->control);
	if (n->child.pidfd >= 0) {
		/* kill the gateway at once: it has nothing to save, and an attacker may control it.
		 * If the gateway has ended already, the signal fails */
		IGNORE(sys_pidfd_send_signal(n->child.pidfd, SIGKILL));
		IGNORE(child_wait(&n->child, &status) < 0);
	}
	n->child.pidfd = -1;
	n->before.rx_bytes += n->now.rx_bytes;
	n->before.tx_bytes += n->now.tx_bytes;
	n->now = (struct network_counters){ 0 };
	n->state = GATEWAY_IDLE;
}

int network_end(struct network *n)
{
	loop_remove(n->loop, &n->link_watch);
	loop_remove(n->loop, &n->restart_timer);
	drop_gateway(n);
	return fd_take(&n->link);
}

void network_free(struct network *n)
{
	int link;

	if (!n)
		return;
	link = network_end(n);
	fd_closep(&link);
	fd_closep(&n->resolv_conf);
	fd_closep(&n->refusals);
	for (size_t i = 0; i < n->n_ports; i++)
		free(n->port[i].bind);
	free(n->port);
	free(n->host_address);
	policy_done(&n->policy);
	free(n->program);
	free(n);
}

/* --- what the engine asks --------------------------------------------------------------------- */

const struct lease *network_lease(const struct network *n)
{
	return &n->lease;
}

void network_set_ids(struct network *n, struct network_ids ids)
{
	n->ids = ids;
}

int network_refusals(const struct network *n)
{
	return n->refusals;
}

const char *network_program(const struct network *n)
{
	return n->program;
}

bool network_has_resolver(const struct network *n)
{
	return n->policy.n_nameservers > 0;
}

void network_set_resolv_conf(struct network *n, int fd)
{
	fd_closep(&n->resolv_conf);
	n->resolv_conf = fd;
}

void network_set_host_addresses(struct network *n, const struct cidr *list, size_t count)
{
	free(n->host_address);
	n->host_address = xcalloc(count + 1, sizeof(*list));
	if (count) /* with COUNT 0, LIST may be NULL, and memcpy() must not get NULL */
		memcpy(n->host_address, list, count * sizeof(*list));
	n->n_host_addresses = count;
}

void network_resolv_conf(const struct network *n, struct buf *out)
{
	char text[ADDR_TEXT_BYTES];

	addr_format(&n->lease.gateway_v4, text);
	buf_addf(out, "nameserver %s\n", text);
}

void network_hosts_line(const struct network *n, struct buf *out)
{
	char text[ADDR_TEXT_BYTES];

	addr_format(&n->lease.gateway_v4, text);
	buf_addf(out, "%s\thost.microsandbox.internal\n", text);
}

/* --- messages --------------------------------------------------------------------------------- */

static void write_ports(const struct network *n, struct json_writer *w)
{
	json_key(w, "ports");
	json_begin_array(w);
	for (size_t i = 0; i < n->n_ports; i++) {
		json_begin_object(w);
		json_key_int(w, "guest_port", n->port[i].guest_port);
		json_key_str(w, "host_bind", n->port[i].bind ? n->port[i].bind : "127.0.0.1");
		json_key_int(w, "host_port", n->port[i].host_port);
		json_key_str(w, "protocol", n->port[i].udp ? "udp" : "tcp");
		json_end_object(w);
	}
	json_end_array(w);
}

static void write_host_addresses(const struct network *n, struct json_writer *w)
{
	char text[CIDR_TEXT_BYTES];

	json_key(w, "host_addresses");
	json_begin_array(w);
	for (size_t i = 0; i < n->n_host_addresses; i++) {
		cidr_format(&n->host_address[i], text);
		json_str(w, text);
	}
	json_end_array(w);
}

static int send_message(struct network *n, const struct buf *b, struct err *e)
{
	if (buf_failed(b))
		return err_set(e, ERR_LIMIT, "the network's configuration is too long");
	if (send(n->control, b->p, b->n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return err_sys(e, errno, "send to the gateway");
	return 0;
}

static int send_config(struct network *n, struct err *e)
{
	AUTO_BUF b = BUF_INIT(MESSAGE_MAX_BYTES);
	struct json_writer w;

	json_writer_init(&w, &b, 0);
	json_begin_object(&w);
	json_key_str(&w, "type", "config");
	json_key(&w, "lease");
	lease_write_json(&n->lease, &w);
	json_key(&w, "network");
	policy_write_json(&n->policy, &w);
	write_host_addresses(n, &w);
	write_ports(n, &w);
	if (n->ids.set) {
		json_key_int(&w, "uid", n->ids.uid);
		json_key_int(&w, "gid", n->ids.gid);
	}
	json_end_object(&w);
	return send_message(n, &b, e);
}

static void on_message(struct network *n, const struct json_value *v)
{
	const char *type = json_get_str(v, "type", "");
	struct err failure = { 0 };

	if (strcmp(type, "denied") == 0) {
		n->events.denied(n->events.arg, json_get_str(v, "text", ""));
	} else if (strcmp(type, "counters") == 0) {
		n->now.rx_bytes = (uint64_t)json_get_int(v, "rx_bytes", 0);
		n->now.tx_bytes = (uint64_t)json_get_int(v, "tx_bytes", 0);
	} else if (strcmp(type, "ready") == 0 && n->state == GATEWAY_STARTING) {
		n->state = GATEWAY_SERVING;
		n->told = true;
		n->events.started(n->events.arg, json_get(v, "ports"), NULL);
	} else if (strcmp(type, "error") == 0 && n->state == GATEWAY_STARTING) {
		n->told = true;
		err_set(&failure, ERR_BUSY, "%s", json_get_str(v, "text", "the gateway failed"));
		n->events.started(n->events.arg, NULL, &failure);
	}
}

/* Reads a message of the gateway. An attacker may control the gateway, so its messages are bounded
 * and parsed strictly. Only on_message() uses them. */
static void on_control(void *arg, int fd, uint32_t events)
{
	AUTO_FREE char *text = xcalloc(1, MESSAGE_MAX_BYTES);
	struct network *n = arg;
	ssize_t got = recv(fd, text, MESSAGE_MAX_BYTES, MSG_DONTWAIT);
	AUTO_JSON doc = NULL;
	struct err e;

	if (got <= 0) {
		/* Stop reading. When the gateway ends, its pidfd becomes readable, and the loop
		 * calls on_gateway_gone(). */
		if (got == 0 || (errno != EAGAIN && errno != EINTR))
			loop_remove(n->loop, &n->control_watch);
		return;
	}
	if (json_parse(text, (size_t)got, &doc, &e) == 0)
		on_message(n, json_root(doc));
}

/* --- starting and restarting ------------------------------------------------------------------ */

static void await_next(struct network *n);

static void on_gateway_gone(void *arg, int fd, uint32_t events)
{
	struct network *n = arg;
	struct err failure = { 0 };

	if (n->control >= 0)
		on_control(n, n->control, 0); /* the gateway may have sent a last message */
	if (!n->told) {
		err_set(&failure, ERR_SYSTEM, "the gateway ended while it started");
		n->events.started(n->events.arg, NULL, &failure);
	}
	drop_gateway(n);
	await_next(n);
}

static int start_gateway(struct network *n, struct err *e)
{
	int pair[2];

	/* set even if this start fails, so that the next try waits RESTART_NS */
	n->started_ns = clock_mono_ns();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, errno, "make a channel to the gateway");
	AUTO_FD theirs = pair[1];
	bool listed = n->resolv_conf >= 0;
	const char *const argv[] = { "cordon-gateway", "3", "4", "5", listed ? "6" : NULL, NULL };
	struct spawn s = { .path = n->program,
			   .argv = argv,
			   .fd = { { n->link, LINK_FD },
				   { theirs, CONTROL_FD },
				   { n->refusals, REFUSALS_FD },
				   { n->resolv_conf, RESOLV_CONF_FD } },
			   .n_fds = listed ? 4 : 3,
			   .cwd_fd = -1 };

	n->control = pair[0];
	if (spawn(&s, &n->child, e) < 0) {
		fd_closep(&n->control);
		n->child.pidfd = -1;
		return err_wrap(e, "start the gateway");
	}
	n->events.born(n->events.arg, n->child.pid);
	n->state = GATEWAY_STARTING;
	n->told = false;
	n->control_watch = loop_add_fd(n->loop, n->control, LOOP_READ, on_control, n);
	n->exit_watch = loop_add_fd(n->loop, n->child.pidfd, LOOP_READ, on_gateway_gone, n);
	if (!n->control_watch || !n->exit_watch || send_config(n, e) < 0) {
		drop_gateway(n);
		return err_wrap(e, "start the gateway");
	}
	return 0;
}

static void start_or_tell(struct network *n)
{
	struct err e = { 0 };

	if (start_gateway(n, &e) < 0) {
		n->events.started(n->events.arg, NULL, &e);
		await_next(n);
	}
}

static void on_link(void *arg, int fd, uint32_t events)
{
	struct network *n = arg;

	loop_remove(n->loop, &n->link_watch);
	start_or_tell(n);
}

/* If ports are published, starts a gateway at once, because a client may connect at any time.
 * Otherwise waits for the next frame of the sandbox, which starts a gateway. */
static void await_frame(void *arg)
{
	struct network *n = arg;

	n->restart_timer = 0;
	if (n->n_ports > 0)
		start_or_tell(n);
	else
		n->link_watch = loop_add_fd(n->loop, n->link, LOOP_READ, on_link, n);
}

static void await_next(struct network *n)
{
	uint64_t next = n->started_ns ? n->started_ns + RESTART_NS : 0;

	if (next > clock_mono_ns())
		n->restart_timer = loop_add_timer(n->loop, next, await_frame, n);
	else
		await_frame(n);
}

int network_set_link(struct network *n, int link, struct err *e)
{
	n->link = link;
	if (n->n_ports > 0)
		return start_gateway(n, e);
	n->link_watch = loop_add_fd(n->loop, n->link, LOOP_READ, on_link, n);
	return n->link_watch ? 0 : err_sys(e, errno, "watch the sandbox's link");
}

/* Sends P to the gateway. If no gateway runs, does nothing: the next gateway gets the policy with
 * its configuration. */
static int send_policy(struct network *n, const struct policy *p, struct err *e)
{
	AUTO_BUF b = BUF_INIT(MESSAGE_MAX_BYTES);
	struct json_writer w;

	if (n->state == GATEWAY_IDLE)
		return 0;
	json_writer_init(&w, &b, 0);
	json_begin_object(&w);
	json_key_str(&w, "type", "policy");
	json_key(&w, "network");
	policy_write_json(p, &w);
	json_end_object(&w);
	return send_message(n, &b, e);
}

int network_swap_policy(struct network *n, struct policy *p, struct err *e)
{
	struct policy old = n->policy;

	if (send_policy(n, p, e) < 0)
		return -1;
	n->policy = *p;
	*p = old;
	return 0;
}

void network_restore_policy(struct network *n, struct policy *p)
{
	struct policy refused = n->policy;
	struct err ignored;

	n->policy = *p;
	*p = refused;
	if (send_policy(n, &n->policy, &ignored) < 0)
		IGNORE(sys_pidfd_send_signal(n->child.pidfd, SIGKILL));
}

struct network_counters network_count(struct network *n)
{
	AUTO_BUF b = BUF_INIT(64);
	struct err e;

	buf_add_str(&b, "{\"type\":\"counters\"}");
	/* the gateway answers later, so the new numbers are for the next call. If this fails, the
	 * next call returns the same numbers as this call */
	if (n->state == GATEWAY_SERVING)
		IGNORE(send_message(n, &b, &e));
	return (struct network_counters){ n->before.rx_bytes + n->now.rx_bytes,
					  n->before.tx_bytes + n->now.tx_bytes };
}
