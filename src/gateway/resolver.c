/*
 * An ask is one question that waits for its answer. It has a slot, and one socket at a time. This
 * is what happens to an ask:
 *
 *   UDP  --answer-->  done            --truncated-->  TCP
 *   UDP  --half the timeout-->  sent once more
 *   UDP, TCP  --timeout, error-->  next server, or done without an answer
 *   TCP  --connected-->  write  -->  read length and message  -->  done
 *
 * A UDP socket is connected to one server, so the kernel accepts datagrams only from this server.
 * If a datagram has a wrong id or question, it is ignored, and the ask goes on waiting.
 */
#include "gateway/resolver.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"

#define RESOLV_CONF "/etc/resolv.conf"
#define RESOLV_CONF_MAX_BYTES 65536u

enum ask_state { ASK_FREE, ASK_UDP, ASK_CONNECT, ASK_READ };

struct ask {
	enum ask_state state;
	struct dns_query query;
	struct dns_origin origin;
	unsigned server; /* index of the server that is asked now */
	uint16_t id;
	int fd;
	size_t poll_index;
	uint64_t deadline_ns, resend_ns;      /* resend_ns is 0 if no resend is planned */
	uint8_t out[2 + DNS_QUERY_MAX_BYTES]; /* the length, which TCP needs, then the message */
	size_t out_n, sent;
	struct buf in;
};

struct server {
	struct sockaddr_storage ss;
	socklen_t n;
	uint64_t dead_until_ns;
};

struct cached {
	struct dns_query query;
	uint64_t since_ns, until_ns;
	size_t n;
	uint8_t *msg; /* owned; NULL if the slot is empty */
};

struct resolver {
	resolver_done_fn *done;
	void *arg;
	struct server server[POLICY_NAMESERVERS_MAX];
	unsigned n_servers;
	uint64_t timeout_ns;
	struct ask ask[RESOLVER_ASKS_MAX];
	unsigned n_asks;
	struct cached cache[RESOLVER_CACHE_SLOTS];
	uint8_t msg[DNS_MESSAGE_MAX];
};

struct resolver *resolver_new(resolver_done_fn *done, void *arg)
{
	struct resolver *r = xcalloc(1, sizeof(*r));

	r->done = done;
	r->arg = arg;
	r->timeout_ns = POLICY_QUERY_TIMEOUT_MS * NS_PER_MS;
	for (unsigned i = 0; i < RESOLVER_ASKS_MAX; i++) {
		r->ask[i].fd = -1;
		buf_init(&r->ask[i].in, 2 + DNS_MESSAGE_MAX);
	}
	return r;
}

void resolver_free(struct resolver *r)
{
	if (!r)
		return;
	for (unsigned i = 0; i < RESOLVER_ASKS_MAX; i++) {
		fd_closep(&r->ask[i].fd);
		buf_done(&r->ask[i].in);
	}
	resolver_flush(r);
	free(r);
}

/* --- servers --------------------------------------------------------------------------------- */

static void add_address(struct resolver *r, const struct addr *a, uint16_t port)
{
	struct server *s = &r->server[r->n_servers];

	if (r->n_servers == POLICY_NAMESERVERS_MAX)
		return;
	*s = (struct server){ 0 };
	if (a->family == ADDR_V4) {
		struct sockaddr_in *in = (struct sockaddr_in *)&s->ss;

		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, a->b, ADDR_V4_BYTES);
		s->n = sizeof(*in);
	} else {
		struct sockaddr_in6 *in = (struct sockaddr_in6 *)&s->ss;

		in->sin6_family = AF_INET6;
		in->sin6_port = htons(port);
		memcpy(&in->sin6_addr, a->b, ADDR_V6_BYTES);
		s->n = sizeof(*in);
	}
	r->n_servers++;
}

static int add_host(struct resolver *r, const char *host, const char *port, struct err *e)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM }, *list = NULL;
	struct server *s = &r->server[r->n_servers];
	int code = getaddrinfo(host, port, &hints, &list);

	if (code != 0)
		return err_set(e, ERR_NOT_FOUND, "--dns-nameserver '%s': %s", host,
			       gai_strerror(code));
	*s = (struct server){ .n = list->ai_addrlen };
	memcpy(&s->ss, list->ai_addr, list->ai_addrlen);
	r->n_servers++;
	freeaddrinfo(list);
	return 0;
}

/* Adds the server TEXT: IP, IP:PORT, [IP]:PORT, HOST or HOST:PORT. The form of TEXT was checked
 * before. */
static int add_server(struct resolver *r, const char *text, struct err *e)
{
	char host[POLICY_NAMESERVER_BYTES];
	struct str rest = str_of(text), head;
	uint64_t port = DNS_PORT;
	struct addr a;

	if (addr_parse(rest, &a) == 0) {
		add_address(r, &a, DNS_PORT);
		return 0;
	}
	if (text[0] == '[') {
		rest.p++, rest.n--;
		head = str_cut(&rest, ']');
		if (rest.p && rest.n > 0)
			rest.p++, rest.n--;
	} else {
		head = str_cut(&rest, ':');
	}
	if (rest.p && rest.n && parse_u64_str(rest, 1, UINT16_MAX, &port) < 0)
		return err_set(e, ERR_INVALID, "--dns-nameserver: bad port in '%s'", text);
	if (addr_parse(head, &a) == 0) {
		add_address(r, &a, (uint16_t)port);
		return 0;
	}
	snprintf(host, sizeof(host), "%.*s", (int)head.n, head.p);
	char port_text[8];
	snprintf(port_text, sizeof(port_text), "%u", (unsigned)port);
	return add_host(r, host, port_text, e);
}

/* Adds the host's own servers from lines "nameserver ADDRESS" of resolv.conf. Skips link-local
 * addresses with a zone. */
static void add_host_servers(struct resolver *r, int resolv_conf)
{
	AUTO_BUF text = BUF_INIT(RESOLV_CONF_MAX_BYTES);
	struct str rest;

	/* If the host has replaced RESOLV_CONF by a new file, this path may be missing in our mount
	 * namespace. Then read the old file from the descriptor that the supervisor has opened. */
	if (io_read_file(AT_FDCWD, RESOLV_CONF, &text) < 0 &&
	    (resolv_conf < 0 || lseek(resolv_conf, 0, SEEK_SET) < 0 ||
	     io_read_to_end(resolv_conf, &text) < 0))
		return; /* without servers every question gets SERVFAIL */
	rest = (struct str){ buf_str(&text), text.n };
	while (rest.p) {
		struct str line = str_cut(&rest, '\n');
		static const char word[] = "nameserver";
		struct addr a;

		if (line.n <= sizeof(word) || memcmp(line.p, word, sizeof(word) - 1) != 0)
			continue;
		line.p += sizeof(word) - 1, line.n -= sizeof(word) - 1;
		while (line.n && (line.p[0] == ' ' || line.p[0] == '\t'))
			line.p++, line.n--;
		while (line.n && (line.p[line.n - 1] == ' ' || line.p[line.n - 1] == '\t' ||
				  line.p[line.n - 1] == '\r'))
			line.n--;
		if (addr_parse(line, &a) == 0)
			add_address(r, &a, DNS_PORT);
	}
}

int resolver_configure(struct resolver *r, const struct policy *p, int resolv_conf, struct err *e)
{
	r->timeout_ns = p->query_timeout_ms * NS_PER_MS;
	r->n_servers = 0;
	for (size_t i = 0; i < p->n_nameservers; i++)
		if (add_server(r, p->nameserver[i], e) < 0)
			return -1;
	if (p->n_nameservers == 0)
		add_host_servers(r, resolv_conf);
	return 0;
}

/* --- kept answers ---------------------------------------------------------------------------- */

void resolver_flush(struct resolver *r)
{
	for (unsigned i = 0; i < RESOLVER_CACHE_SLOTS; i++)
		free_p(&r->cache[i].msg);
}

static struct cached *cache_slot(struct resolver *r, const struct dns_query *q)
{
	uint32_t h = q->type;

	for (const char *s = q->name; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x01000193u;
	return &r->cache[(h ^ h >> 15) % RESOLVER_CACHE_SLOTS];
}

static bool same_query(const struct dns_query *a, const struct dns_query *b)
{
	return a->type == b->type && a->class == b->class && a->edns == b->edns &&
	       a->dnssec == b->dnssec && strcmp(a->name, b->name) == 0;
}

static uint32_t shortest_ttl(const uint8_t *msg, size_t n)
{
	uint32_t ttl = RESOLVER_CACHE_MAX_S;
	struct dns_record rec;
	struct dns_walk w;
	bool any = false;

	dns_walk_start(&w, msg, n);
	while (dns_walk_next(&w, &rec))
		if (rec.type != DNS_OPT) {
			any = true;
			if (rec.ttl < ttl)
				ttl = rec.ttl;
		}
	return any ? ttl : 0;
}

static void cache_put(struct resolver *r, const struct dns_query *q, const uint8_t *msg, size_t n,
		      uint64_t now_ns)
{
	enum dns_rcode rcode = dns_answer_rcode(msg);
	uint32_t ttl = shortest_ttl(msg, n);
	struct cached *c = cache_slot(r, q);

	if (ttl == 0 || n > RESOLVER_CACHED_BYTES ||
	    (rcode != DNS_NOERROR && rcode != DNS_NXDOMAIN))
		return;
	free_p(&c->msg);
	c->query = *q;
	c->since_ns = now_ns;
	c->until_ns = now_ns + ttl * NS_PER_SEC;
	c->n = n;
	c->msg = xcalloc(1, n);
	memcpy(c->msg, msg, n);
}

/* Copies the kept answer to r->msg and reduces its TTLs by the age of the answer. Returns the
 * length of the answer, or 0 if none is kept. */
static size_t cache_get(struct resolver *r, const struct dns_query *q, uint64_t now_ns)
{
	struct cached *c = cache_slot(r, q);
	uint32_t age_s = (uint32_t)((now_ns - c->since_ns) / NS_PER_SEC);
	struct dns_record rec;
	struct dns_walk w;

	if (!c->msg || now_ns >= c->until_ns || !same_query(&c->query, q))
		return 0;
	memcpy(r->msg, c->msg, c->n);
	dns_walk_start(&w, r->msg, c->n);
	while (dns_walk_next(&w, &rec))
		if (rec.type != DNS_OPT) {
			uint32_t left = rec.ttl > age_s ? rec.ttl - age_s : 0;

			for (unsigned i = 0; i < 4; i++)
				r->msg[rec.ttl_at + i] = (uint8_t)(left >> (24 - 8 * i));
		}
	return c->n;
}

/* --- asking ---------------------------------------------------------------------------------- */

static void ask_close(struct ask *a)
{
	fd_closep(&a->fd);
	buf_done(&a->in);
	a->sent = 0;
}

static void ask_end(struct resolver *r, struct ask *a, uint8_t *msg, size_t n)
{
	struct dns_query q = a->query;
	struct dns_origin o = a->origin;

	ask_close(a);
	a->state = ASK_FREE;
	r->n_asks--;
	r->done(r->arg, &q, &o, msg, n);
}

static int ask_open(struct resolver *r, struct ask *a, int type)
{
	struct server *s = &r->server[a->server];

	a->fd = socket(s->ss.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (a->fd < 0)
		return -errno;
	if (connect(a->fd, (struct sockaddr *)&s->ss, s->n) < 0 && errno != EINPROGRESS)
		return -errno;
	return 0;
}

static bool ask_by_udp(struct resolver *r, struct ask *a, uint64_t now_ns)
{
	if (ask_open(r, a, SOCK_DGRAM) < 0 ||
	    send(a->fd, a->out + 2, a->out_n - 2, MSG_NOSIGNAL) < 0) {
		ask_close(a);
		return false;
	}
	a->state = ASK_UDP;
	a->deadline_ns = now_ns + r->timeout_ns;
	a->resend_ns = now_ns + r->timeout_ns / 2;
	return true;
}

static bool ask_by_tcp(struct resolver *r, struct ask *a, uint64_t now_ns)
{
	ask_close(a);
	if (ask_open(r, a, SOCK_STREAM) < 0) {
		ask_close(a);
		return false;
	}
	a->state = ASK_CONNECT;
	a->deadline_ns = now_ns + r->timeout_ns;
	a->resend_ns = 0;
	return true;
}

/* Returns the first server from FROM on that has not timed out lately, or FROM if all have. */
static unsigned pick_server(const struct resolver *r, unsigned from, uint64_t now_ns)
{
	for (unsigned i = from; i < r->n_servers; i++)
		if (r->server[i].dead_until_ns <= now_ns)
			return i;
	return from;
}

static void ask_next(struct resolver *r, struct ask *a, unsigned from, uint64_t now_ns)
{
	ask_close(a);
	for (a->server = pick_server(r, from, now_ns); a->server < r->n_servers; a->server++)
		if (ask_by_udp(r, a, now_ns))
			return;
	ask_end(r, a, NULL, 0);
}

void resolver_ask(struct resolver *r, const struct dns_query *q, const struct dns_origin *o,
		  uint64_t now_ns)
{
	size_t n = cache_get(r, q, now_ns);
	struct ask *a = r->ask;

	if (n > 0) {
		r->done(r->arg, q, o, r->msg, n);
		return;
	}
	if (r->n_asks == RESOLVER_ASKS_MAX) {
		r->done(r->arg, q, o, NULL, 0);
		return;
	}
	while (a->state != ASK_FREE)
		a++;
	r->n_asks++;
	a->state = ASK_UDP;
	a->query = *q;
	a->origin = *o;
	if (getrandom(&a->id, sizeof(a->id), 0) != (ssize_t)sizeof(a->id))
		/* without a random id, the random source port still makes it hard to forge an
		 * answer */
		a->id = (uint16_t)now_ns;
	a->out_n = 2 + dns_query_encode(q, a->id, a->out + 2);
	a->out[0] = (uint8_t)((a->out_n - 2) >> 8);
	a->out[1] = (uint8_t)(a->out_n - 2);
	ask_next(r, a, 0, now_ns);
}

/* --- listening ------------------------------------------------------------------------------- */

static void ask_answered(struct resolver *r, struct ask *a, uint8_t *msg, size_t n, uint64_t now_ns)
{
	r->server[a->server].dead_until_ns = 0;
	cache_put(r, &a->query, msg, n, now_ns);
	ask_end(r, a, msg, n);
}

static void read_udp(struct resolver *r, struct ask *a, uint64_t now_ns)
{
	ssize_t n = recv(a->fd, r->msg, sizeof(r->msg), 0);

	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			ask_next(r, a, a->server + 1, now_ns);
		return;
	}
	if (dns_answer_check(r->msg, (size_t)n, &a->query, a->id) < 0)
		return; /* this datagram is not the answer; the answer may still come */
	if (!dns_answer_truncated(r->msg)) {
		ask_answered(r, a, r->msg, (size_t)n, now_ns);
	} else if (!ask_by_tcp(r, a, now_ns)) {
		ask_next(r, a, a->server + 1, now_ns);
	}
}

static void write_tcp(struct resolver *r, struct ask *a, uint64_t now_ns)
{
	ssize_t n = send(a->fd, a->out + a->sent, a->out_n - a->sent, MSG_NOSIGNAL);

	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			ask_next(r, a, a->server + 1, now_ns);
		return;
	}
	a->sent += (size_t)n;
	if (a->sent == a->out_n)
		a->state = ASK_READ;
}

static void read_tcp(struct resolver *r, struct ask *a, uint64_t now_ns)
{
	size_t want =
		a->in.n < 2 ? 2 : 2 + ((size_t)(uint8_t)a->in.p[0] << 8 | (uint8_t)a->in.p[1]);
	void *room = buf_room(&a->in, want - a->in.n);
	ssize_t n = room ? recv(a->fd, room, want - a->in.n, 0) : -1;

	if (n <= 0) {
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			ask_next(r, a, a->server + 1, now_ns);
		return;
	}
	a->in.n += (size_t)n;
	if (a->in.n < want || want == 2)
		return;
	memcpy(r->msg, a->in.p + 2, want - 2);
	if (dns_answer_check(r->msg, want - 2, &a->query, a->id) < 0)
		ask_next(r, a, a->server + 1, now_ns);
	else
		ask_answered(r, a, r->msg, want - 2, now_ns);
}

void resolver_fill(struct resolver *r, struct pollset *set)
{
	for (unsigned i = 0, left = r->n_asks; left > 0; i++) {
		struct ask *a = &r->ask[i];

		if (a->state == ASK_FREE)
			continue;
		left--;
		a->poll_index = pollset_add(set, a->fd, a->state == ASK_CONNECT ? POLLOUT : POLLIN);
		pollset_wake_at(set, a->resend_ns ? a->resend_ns : a->deadline_ns);
	}
}

static void ask_due(struct resolver *r, struct ask *a, uint64_t now_ns)
{
	if (a->resend_ns && now_ns >= a->resend_ns && now_ns < a->deadline_ns) {
		a->resend_ns = 0;
		/* if sending fails, the ask ends at its deadline */
		IGNORE(send(a->fd, a->out + 2, a->out_n - 2, MSG_NOSIGNAL) < 0);
	} else if (now_ns >= a->deadline_ns) {
		r->server[a->server].dead_until_ns = now_ns + RESOLVER_DEAD_NS;
		ask_next(r, a, a->server + 1, now_ns);
	}
}

void resolver_poll(struct resolver *r, const struct pollset *set, uint64_t now_ns)
{
	for (unsigned i = 0; i < RESOLVER_ASKS_MAX && r->n_asks > 0; i++) {
		struct ask *a = &r->ask[i];
		bool ready;

		if (a->state == ASK_FREE)
			continue;
		/* an ask that began after the set was filled has no entry in the set */
		ready = a->poll_index < set->n && set->fd[a->poll_index].fd == a->fd &&
			set->fd[a->poll_index].revents;
		if (ready && a->state == ASK_UDP)
			read_udp(r, a, now_ns);
		else if (ready && a->state == ASK_CONNECT)
			write_tcp(r, a, now_ns);
		else if (ready && a->state == ASK_READ)
			read_tcp(r, a, now_ns);
		/* look at the deadline even if something was read: a server that sends wrong
		 * answers without end must not keep the question alive */
		if (a->state != ASK_FREE)
			ask_due(r, a, now_ns);
	}
}
