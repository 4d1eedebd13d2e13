#include "endpoint/socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "endpoint/tls.h"
#include "service/python.h"

#define TARGET "/rpc/ws"
#define TOKEN_VARIABLE "LANGBOT_BOX_CONTROL_TOKEN"
#define TOKEN_HEADER "X-LangBot-Box-Control-Token"
#define INSTANCE_HEADER "X-LangBot-Instance-Id"

/* --- TCP ------------------------------------------------------------------------------------- */

/* Waits for EVENTS of FD. Returns 0 or an errno: ETIMEDOUT at the deadline, ECANCELED if a signal
 * has come. */
static int wait_for(int fd, short events, const struct interrupt *i, uint64_t deadline_ns)
{
	struct pollfd p[2] = { { .fd = fd, .events = events }, { .fd = i->fd, .events = POLLIN } };

	while (!p[0].revents) {
		if (clock_mono_ns() >= deadline_ns)
			return ETIMEDOUT;
		if (poll(p, 2, clock_poll_ms(deadline_ns)) < 0 && errno != EINTR)
			return errno;
		if (p[1].revents)
			return ECANCELED;
	}
	return 0;
}

/* Waits until FD is connected. Returns 0, or an errno if the connection failed. */
static int wait_connected(int fd, const struct interrupt *i, uint64_t deadline_ns)
{
	int error = wait_for(fd, POLLOUT, i, deadline_ns);
	socklen_t n = sizeof(error);

	if (error)
		return error;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0 ? errno : error;
}

/* Returns a connected descriptor, or -errno. */
static int try_address(const struct addrinfo *a, const struct interrupt *i, uint64_t deadline_ns)
{
	AUTO_FD fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
	const int on = 1;
	int r;

	if (fd < 0)
		return -errno;
	r = connect(fd, a->ai_addr, a->ai_addrlen) < 0 ? errno : 0;
	if (r == EINPROGRESS)
		r = wait_connected(fd, i, deadline_ns);
	if (r)
		return -r;
	/* if this fails, the connection is only slower */
	IGNORE(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)));
	return fd_take(&fd);
}

/* Sets the fault that the server cannot be reached, and returns -1. TEMPORARY says that a later
 * attempt may succeed. */
static int miss(const struct address *a, const char *why, bool temporary, struct fault *f)
{
	fault_set(f, FAULT_BOX, "the Box runtime at %s cannot be reached: %s", a->host, why);
	return temporary ? fault_set_again(f) : -1;
}

/* Returns true if ERROR is an errno that connect() may return while a server or a network
 * restarts. */
static bool is_temporary(int error)
{
	return error == ECONNREFUSED || error == ECONNRESET || error == ECONNABORTED ||
	       error == EHOSTUNREACH || error == ENETUNREACH || error == ENETDOWN;
}

/* Tries the addresses of the name in turn, until one connects or a signal comes. The deadline does
 * not apply to the lookup of the name, which has time limits of its own. */
static int connect_to(const struct address *a, const struct interrupt *i, uint64_t deadline_ns,
		      struct fault *f)
{
	const struct addrinfo wanted = { .ai_socktype = SOCK_STREAM,
					 .ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG };
	struct addrinfo *all = NULL;
	char port[8];
	int r, fd = -ENOENT;

	snprintf(port, sizeof(port), "%u", (unsigned)a->port);
	r = getaddrinfo(a->name, port, &wanted, &all);
	if (r != 0)
		return miss(a, gai_strerror(r), r == EAI_AGAIN, f);
	for (const struct addrinfo *p = all; p && fd < 0 && fd != -ECANCELED; p = p->ai_next)
		fd = try_address(p, i, deadline_ns);
	freeaddrinfo(all);
	return fd < 0 ? miss(a, strerror(-fd), is_temporary(-fd), f) : fd;
}

/* --- TLS ------------------------------------------------------------------------------------- */

/* Encrypts the link. When this succeeds, the server has proved who it is. */
static int secure(struct link *l, const struct address *a, uint64_t deadline_ns, struct fault *f)
{
	int r, error;

	if (tls_new(l->in, a, &l->tls, f) < 0)
		return -1;
	while ((r = tls_shake(l->tls, a, f)) == 0) {
		error = wait_for(l->in, tls_events(l->tls), l->interrupt, deadline_ns);
		if (error == ETIMEDOUT)
			return fault_set(f, FAULT_BOX, "the Box runtime did not answer in time");
		if (error)
			return fault_set(f, FAULT_BOX, "the TLS handshake was interrupted: %s",
					 strerror(error));
	}
	return r < 0 ? -1 : 0;
}

/* --- the handshake --------------------------------------------------------------------------- */

static int put_request(const struct runtime_config *c, const struct address *a,
		       const unsigned char *nonce, struct buf *out, struct fault *f)
{
	const char *given = getenv(TOKEN_VARIABLE);
	struct str token = python_trim(str_of(given ? given : ""));

	websocket_put_request(out, str_of(a->host), STR(TARGET), nonce);
	if (token.n)
		http_put_header(out, TOKEN_HEADER, token);
	if (c->instance)
		http_put_header(out, INSTANCE_HEADER, str_of(c->instance));
	http_put_end(out);
	return buf_failed(out) ? fault_set(f, FAULT_VALIDATION, TOKEN_VARIABLE " is no token") : 0;
}

static int refuse(const struct address *a, const struct http_response *r, struct fault *f)
{
	if (r->status == 401)
		return fault_set(f, FAULT_BOX,
				 "the Box runtime at %s refuses us (401): check " TOKEN_VARIABLE
				 " and service.instance_id",
				 a->host);
	fault_set(f, FAULT_BOX, "the server at %s is no Box runtime: it answered %u", a->host,
		  r->status);
	/* a proxy answers with these codes while the server behind it restarts, so a later attempt
	 * may succeed */
	return r->status >= 502 && r->status <= 504 ? fault_set_again(f) : -1;
}

static int shake_hands(const struct runtime_config *c, const struct address *a, struct link *l,
		       uint64_t deadline_ns, struct fault *f)
{
	unsigned char nonce[WEBSOCKET_NONCE_BYTES];
	AUTO_BUF request = BUF_INIT(HTTP_HEAD_MAX_BYTES);
	struct http_response r = { 0 };
	struct str in;
	size_t seen = 0;
	int got;

	if (getrandom(nonce, sizeof(nonce), 0) != (ssize_t)sizeof(nonce))
		return fault_set(f, FAULT_BOX, "no random numbers");
	if (put_request(c, a, nonce, &request, f) < 0 ||
	    link_write(l, (struct str){ request.p, request.n }, deadline_ns, f) < 0)
		return -1;
	do {
		if (link_read_more(l, deadline_ns, f) < 0)
			return -1;
		in = (struct str){ l->received.p, l->received.n };
		got = http_response_next(&in, &seen, &r);
	} while (got == 0);
	if (got < 0)
		return fault_set(f, FAULT_BOX, "the server at %s is no Box runtime", a->host);
	if (!websocket_check_response(&r, nonce, NULL))
		return refuse(a, &r, f);
	l->decoded = l->received.n - in.n;
	return 0;
}

int socket_open(const struct runtime_config *c, struct interrupt *i, uint64_t deadline_ns,
		struct link *ret, struct fault *f)
{
	struct address a = { 0 };
	int fd, r;

	if (address_read(str_of(c->endpoint), &a, f) < 0)
		return -1;
	fd = connect_to(&a, i, deadline_ns, f);
	r = fd < 0 ? -1 : 0;
	if (r == 0) {
		link_init(ret, fd, fd, true, i);
		if (a.tls)
			r = secure(ret, &a, deadline_ns, f);
		if (r == 0)
			r = shake_hands(c, &a, ret, deadline_ns, f);
		ret->ping_ns = (uint64_t)c->ping_sec * NS_PER_SEC;
		ret->next_ping_ns = clock_mono_ns() + ret->ping_ns;
		if (r < 0)
			link_done(ret);
	}
	address_done(&a);
	return r;
}
