#include "gateway/gateway.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "gateway/dns_question.h"
#include "gateway/firewall.h"

#define EXPIRE_EVERY_NS (5 * NS_PER_SEC)
#define V6_CHECK_NS (10 * NS_PER_SEC)

static void from_stack(void *arg, uint8_t *frame, size_t n)
{
	firewall_from_stack(arg, frame, n);
}

static void from_dns_tcp(void *arg, uint8_t *frame, size_t n)
{
	firewall_send(arg, frame, n);
}

static void start_rates(struct gateway *g)
{
	const struct rate_limit echo = { GATEWAY_ECHO_PER_S, 1000, 0 };
	uint64_t now = clock_mono_ns();

	bucket_init(&g->egress_bytes, &g->policy.rates.egress_bandwidth, now);
	bucket_init(&g->egress_ops, &g->policy.rates.egress_ops, now);
	bucket_init(&g->ingress_bytes, &g->policy.rates.ingress_bandwidth, now);
	bucket_init(&g->ingress_ops, &g->policy.rates.ingress_ops, now);
	bucket_init(&g->echo, &echo, now);
}

int gateway_start(struct gateway *g, struct gateway_config *config, int link_fd, struct err *e)
{
	struct dns_tcp_ops ops = { .send = from_dns_tcp, .query = dns_question_by_tcp, .arg = g };

	if (link_init(&g->link, link_fd, e) < 0 || route_open(&g->route, e) < 0)
		return -1;
	g->now_ns = clock_mono_ns();
	g->config = config;
	g->lease = config->lease;
	g->host = (struct addr_host){ true, true, config->lease.gateway_v4,
				      config->lease.gateway_v6 };
	g->resolved = resolved_new();
	g->resolver = resolver_new(dns_question_answered, g);
	g->dns_tcp = dns_tcp_new(&g->lease, &ops);
	flow_table_init(&g->flows, config->policy.max_connections);
	g->stack = stack_new(&g->lease, g->link.vnet, from_stack, g);
	g->can_ping = stack_can_ping();
	if (resolver_configure(g->resolver, &config->policy, config->resolv_conf, e) < 0)
		return -1;
	gateway_set_policy(g, &config->policy);
	for (size_t i = 0; i < config->n_ports; i++)
		if (stack_publish(g->stack, &config->port[i], e) < 0)
			return -1;
	return 0;
}

void gateway_stop(struct gateway *g)
{
	route_done(&g->route);
	stack_free(g->stack);
	resolver_free(g->resolver);
	dns_tcp_free(g->dns_tcp);
	resolved_free(g->resolved);
	flow_table_done(&g->flows);
	policy_done(&g->policy);
	free(g->set.fd);
}

void gateway_set_policy(struct gateway *g, struct policy *p)
{
	policy_done(&g->policy);
	g->policy = *p;
	p->rule = NULL; /* the rules belong to G now */
	p->n_rules = 0;
	g->flows.max = g->policy.max_connections;
	resolver_flush(g->resolver);
	/* the new policy may refuse for other reasons, so report refusals again */
	denials_reset(&g->denials);
	start_rates(g);
}

/* Looks for a route by connecting a datagram socket: connect() sends nothing here, but fails if the
 * kernel has no route. */
bool gateway_has_v6_route(struct gateway *g)
{
	struct sockaddr_in6 somewhere = { .sin6_family = AF_INET6, .sin6_port = htons(9) };

	if (g->v6_checked_ns && g->now_ns - g->v6_checked_ns < V6_CHECK_NS)
		return g->has_v6_route;
	AUTO_FD fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	somewhere.sin6_addr.s6_addr[0] = 0x20; /* 2000::1, as an example of a global address */
	somewhere.sin6_addr.s6_addr[15] = 1;
	g->v6_checked_ns = g->now_ns;
	g->has_v6_route =
		fd >= 0 && connect(fd, (struct sockaddr *)&somewhere, sizeof(somewhere)) == 0;
	return g->has_v6_route;
}

/* --- the loop --------------------------------------------------------------------------------- */

static uint64_t wait_ns(struct gateway *g, struct bucket *bytes, struct bucket *ops)
{
	uint64_t a = bucket_wait_ns(bytes, g->now_ns), b = bucket_wait_ns(ops, g->now_ns);

	return a > b ? a : b;
}

/* If the guest has sent more than its rate allows, returns how many nanoseconds we must not read
 * the link. Otherwise returns 0. */
static uint64_t egress_wait(struct gateway *g)
{
	return wait_ns(g, &g->egress_bytes, &g->egress_ops);
}

static int read_link(struct gateway *g)
{
	uint8_t *frame;
	size_t n;
	int r = 1;

	for (unsigned i = 0; i < GATEWAY_BATCH && r > 0 && egress_wait(g) == 0; i++) {
		r = link_read(&g->link, &frame, &n);
		if (r > 0)
			firewall_from_guest(g, frame, n);
		firewall_flush(g);
	}
	return r < 0 ? r : 0;
}

enum { SLOT_LINK, SLOT_CONTROL, SLOT_ROUTES };

static void fill(struct gateway *g)
{
	uint64_t out = egress_wait(g), in = wait_ns(g, &g->ingress_bytes, &g->ingress_ops);
	struct pollset *s = &g->set;

	s->n = 0;
	s->wake_ns = UINT64_MAX;
	pollset_add(s, g->link.fd, out ? 0 : POLLIN);
	pollset_add(s, g->control.fd, POLLIN);
	pollset_add(s, g->route.news, POLLIN);
	if (out)
		pollset_wake_at(s, g->now_ns + out);
	if (in)
		pollset_wake_at(s, g->now_ns + in);
	resolver_fill(g->resolver, s);
	dns_tcp_fill(g->dns_tcp, s);
	stack_fill(g->stack, s, g->now_ns, in > 0);
	if (g->flows.n > 0)
		pollset_wake_at(s, g->expire_ns);
}

static int wait_for_events(struct gateway *g)
{
	uint64_t ns = g->set.wake_ns > g->now_ns ? g->set.wake_ns - g->now_ns : 0;
	struct timespec ts = { (time_t)(ns / NS_PER_SEC), (long)(ns % NS_PER_SEC) };

	if (ppoll(g->set.fd, g->set.n, g->set.wake_ns == UINT64_MAX ? NULL : &ts, NULL) < 0)
		return errno == EINTR ? 0 : -errno;
	return 0;
}

static int turn(struct gateway *g)
{
	short link;
	int r;

	g->now_ns = clock_mono_ns();
	fill(g);
	r = wait_for_events(g);
	if (r < 0)
		return r;
	g->now_ns = clock_mono_ns();
	if (g->set.fd[SLOT_CONTROL].revents)
		control_handle(g);
	/* recheck the flows before we send anything: the address of a flow's peer may now be an
	 * address of the host */
	if (g->set.fd[SLOT_ROUTES].revents && route_changed(&g->route))
		firewall_recheck(g);
	/* call firewall_failed_dials() before all other functions of the stack, because those may
	 * change the sockets that were polled */
	firewall_failed_dials(g);
	stack_poll(g->stack, &g->set);
	firewall_flush(g);
	resolver_poll(g->resolver, &g->set, g->now_ns);
	dns_tcp_due(g->dns_tcp, g->now_ns);
	link = g->set.fd[SLOT_LINK].revents;
	r = link ? read_link(g) : 0;
	if (g->now_ns >= g->expire_ns) {
		flow_expire(&g->flows, g->now_ns);
		g->expire_ns = g->now_ns + EXPIRE_EVERY_NS;
	}
	return r;
}

int gateway_serve(struct gateway *g, struct err *e)
{
	while (!g->quit) {
		int r = turn(g);

		if (r < 0)
			return err_sys(e, -r, "gateway");
	}
	return 0;
}
