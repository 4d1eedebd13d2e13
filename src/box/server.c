/* Accepts connections, and stops the server. */
#include "box/server.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "box/peer.h"

#define LISTEN_AGAIN_NS (100 * NS_PER_MS)

static void pause_listening(struct server *s);

static bool is_loopback(const struct sockaddr_storage *a)
{
	const struct sockaddr_in *four = (const void *)a;
	const struct sockaddr_in6 *six = (const void *)a;

	if (a->ss_family == AF_INET)
		return ntohl(four->sin_addr.s_addr) >> 24 == 127;
	if (a->ss_family != AF_INET6)
		return false;
	return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) ||
	       (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) && six->sin6_addr.s6_addr[12] == 127);
}

/* Returns true if the connection stays on this machine. It is enough that one end has a loopback
 * address, because a local user may bind the other end to an address of a network card. */
static bool is_local(int fd, const struct sockaddr_storage *from)
{
	struct sockaddr_storage to = { 0 };
	socklen_t n = sizeof(to);

	return is_loopback(from) || getsockname(fd, (struct sockaddr *)&to, &n) < 0 ||
	       is_loopback(&to);
}

static void on_listen_again(void *arg)
{
	struct server *s = arg;

	s->listen_again = 0;
	if (server_listen(s) < 0)
		pause_listening(s);
}

/* Stops listening for a while. If no descriptor is free, a new connection stays in the backlog and
 * keeps the listener readable. Without the pause the loop would spin. */
static void pause_listening(struct server *s)
{
	loop_remove(s->loop, &s->listen_watch);
	s->listen_again =
		loop_add_timer(s->loop, clock_mono_ns() + LISTEN_AGAIN_NS, on_listen_again, s);
	if (!s->listen_again)
		out_of_memory();
}

static void on_connection(void *arg, int fd, uint32_t events)
{
	struct server *s = arg;
	struct sockaddr_storage from = { 0 };
	socklen_t n = sizeof(from);
	AUTO_FD got = accept4(fd, (struct sockaddr *)&from, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
	bool local;

	if (got < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			pause_listening(s);
		return; /* any other error means that the peer has left */
	}
	/* if too many connections have not identified themselves, drop the oldest of them;
	 * otherwise silent connections could take all places */
	if (s->n_unidentified >= SERVER_UNIDENTIFIED_MAX)
		peers_drop_unidentified(s);
	if (s->n_peers >= SERVER_CONNECTIONS_MAX)
		return;
	local = is_local(got, &from);
	peer_new(s, fd_take(&got), local);
}

int server_listen(struct server *s)
{
	s->listen_watch = loop_add_fd(s->loop, s->listener, LOOP_READ, on_connection, s);
	return s->listen_watch ? 0 : -errno;
}

static void stop_if_over(struct server *s)
{
	if (s->stopping && s->dropped && s->n_peers == 0)
		loop_stop(s->loop);
}

void server_peer_left(struct server *s)
{
	stop_if_over(s);
}

static bool every_tenant(void *arg, const struct tenant *t, const char *id)
{
	return true;
}

static void on_dropped(void *arg, const struct fault *fault, struct buf *data)
{
	struct server *s = arg;

	s->dropped = true;
	stop_if_over(s);
}

void server_stop(struct server *s)
{
	const struct reply r = { on_dropped, s };

	if (s->stopping)
		return;
	s->stopping = true;
	loop_remove(s->loop, &s->listen_watch);
	loop_remove(s->loop, &s->listen_again);
	peers_close(s, WEBSOCKET_GOING_AWAY, "Box runtime shutting down");
	sessions_refuse(runtime_sessions(s->runtime), true);
	sessions_drop(runtime_sessions(s->runtime), every_tenant, NULL, &r);
}
