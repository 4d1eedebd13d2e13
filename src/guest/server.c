/*
 * The connections of clients. pid 1 refuses a client whose process is in the sandbox's pid
 * namespace. Such a process belongs to the payload, and can reach the socket only if somebody on
 * the host made a mistake.
 */
#include "guest/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fdpass.h"
#include "guest/inquiry.h"
#include "guest/session.h"
#include "guest/state_blob.h"

#define READ_CHUNK_BYTES 8192 /* small, because idle sandboxes keep this buffer in memory */
#define SPARE_FDS 32          /* is_crowded() keeps this many descriptors free for new commands */
#define BACKGROUND_FDS 3      /* pid 1's ends of a background command's pipes */
/* 100 ms: if pid 1 had no descriptor or memory for a client, it tries again after this time */
#define ACCEPT_RETRY_NS 100000000ull

static void drop_fds(struct connection *c)
{
	while (c->n_fds > 0)
		close(c->fds[--c->n_fds]);
}

/* Returns how many bytes the client has read for certain. A frame from the client proves nothing,
 * because the client may have sent it before pid 1 sent the last bytes. So pid 1 asks the kernel.
 * But if no command depends on the answer, returns the number of all bytes that were sent. AT_END
 * says that pid 1 has read the end of what the client sends. */
static uint64_t bytes_heard(const struct connection *c, bool at_end)
{
	struct pollfd p = { .fd = c->fd };
	int unread = 0;

	if (!sessions_must_be_heard(c))
		return c->sent;
	/* SIOCOUTQ tells how much memory the unread bytes take, which is never less than their
	 * number */
	if (ioctl(c->fd, SIOCOUTQ, &unread) < 0 || (uint64_t)unread > c->sent)
		return 0;
	/* If the client has closed its socket, the kernel has dropped the bytes that were unread.
	 * When pid 1 then reads the end, recvmsg() fails with ECONNRESET if there were such bytes.
	 * Before the end, pid 1 cannot know this. */
	if (!at_end && (poll(&p, 1, 0) < 0 || p.revents))
		return 0;
	return c->sent - (uint64_t)unread;
}

/* HEARD is how many bytes the client has read for certain. */
static void connection_close(struct connection *c, uint64_t heard)
{
	struct guest *g = c->guest;
	struct connection **at = &g->connections;

	if (c->dead)
		return;
	c->dead = true;
	looks_drop(c);
	sessions_drop(c, heard);
	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
	g->n_connections--;
	loop_remove(g->loop, &c->watch);
	fd_closep(&c->fd);
	drop_fds(c);
	buf_done(&c->in);
	buf_done(&c->out);
	free(c);
	/* now pid 1 has room for a client that waits in the backlog */
	loop_change_fd(g->loop, g->listener_watch, LOOP_READ);
}

/* Sends as much of the queue as the socket takes. Never closes the connection, because the calling
 * functions still use it. If the socket is broken, the loop reports this later. */
void connection_flush(struct connection *c)
{
	while (c->out.n) {
		ssize_t n = send(c->fd, c->out.p, c->out.n, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		buf_drop(&c->out, (size_t)n);
		c->sent += (uint64_t)n;
	}
	/* c->held means that requests or answers wait. Then the loop reads nothing from the client,
	 * and calls on_connection() when the socket is writable. on_connection() calls resume(). */
	loop_change_fd(c->guest->loop, c->watch,
		       (c->held ? 0 : LOOP_READ) | (c->out.n || c->held ? LOOP_WRITE : 0));
}

bool connection_hold(struct connection *c)
{
	if (c->out.n <= CONNECTION_WAITING_BYTES)
		return false;
	c->held = true;
	return true;
}

void connection_add(struct connection *c, enum frame_type type, unsigned flags, uint32_t stream,
		    const void *p, size_t n)
{
	frame_put(&c->out, type, flags, stream, p, n);
	if (buf_failed(&c->out)) /* there was no memory; the client must not wait for this frame */
		IGNORE(shutdown(c->fd, SHUT_RDWR));
}

void connection_send(struct connection *c, enum frame_type type, unsigned flags, uint32_t stream,
		     const void *p, size_t n)
{
	connection_add(c, type, flags, stream, p, n);
	connection_flush(c);
}

void connection_send_exit(struct connection *c, uint32_t stream, const struct exit_message *m)
{
	AUTO_BUF b = BUF_INIT(4096);

	exit_encode(&b, m);
	connection_send(c, FRAME_EXIT, 0, stream, b.p, b.n);
}

void connection_send_error(struct connection *c, uint32_t stream, const struct err *e)
{
	AUTO_BUF b = BUF_INIT(4096);

	error_encode(&b, (unsigned)e->code, e->msg);
	connection_send(c, FRAME_ERROR, 0, stream, b.p, b.n);
}

void connection_end(struct connection *c)
{
	/* if data is queued, the client reads it and then closes the connection itself */
	if (c->out.n == 0)
		/* no process of the command is left, so pid 1 need not ask what the client has
		 * read */
		connection_close(c, c->sent);
}

static bool on_hello(struct connection *c, struct str body)
{
	struct hello h;
	AUTO_BUF out = BUF_INIT(256), text = BUF_INIT(200);

	if (hello_decode(body, &h) < 0)
		return false;
	hello_encode(&c->out);
	c->greeted = hello_agree(&h) != 0;
	if (!c->greeted) {
		buf_addf(&text,
			 "this sandbox speaks protocol %u to %u and this program %u to %u; "
			 "restart the sandbox",
			 WIRE_OLDEST, WIRE_VERSION, h.oldest, h.version);
		error_encode(&out, ERR_PROTOCOL, buf_str(&text));
		connection_send(c, FRAME_ERROR, 0, 0, out.p, out.n);
	}
	return c->greeted;
}

/* Handles the frame QUIT. A client that started the sandbox for its own command sends QUIT when it
 * leaves. The answer is the number of commands that still run. If there are any, the sandbox ends
 * with the last of them. If there are none, the client stops the sandbox itself. */
static void on_quit(struct connection *c, uint32_t stream)
{
	AUTO_BUF b = BUF_INIT(64);

	c->guest->quits = c->guest->n_running > 0;
	number_encode(&b, c->guest->n_running);
	connection_send(c, FRAME_PONG, 0, stream, b.p, b.n);
}

/* S is the session of the frame's stream, or NULL. */
static void on_signal(struct connection *c, struct session *s, const struct frame *f)
{
	struct signal_message m;

	if (signal_decode(f->body, &m) < 0)
		return;
	if (m.id)
		inquiry_signal(c, f->stream, &m, f->flags);
	else if (s)
		session_signal(s, m.signal, f->flags & FRAME_FLAG_SCOPE);
}

/* Returns false if the connection must be closed. */
static bool on_frame(struct connection *c, const struct frame *f)
{
	struct session *s;

	if (f->type == FRAME_HELLO)
		return on_hello(c, f->body);
	if (!c->greeted)
		return false;
	s = session_find(c->guest, c, f->stream);
	switch (f->type) {
	case FRAME_EXEC:
		if (s)
			return false; /* the stream is taken */
		session_start(c, f->stream, f->body);
		guest_confine(c->guest);
		drop_fds(c);
		return true;
	case FRAME_ATTACH:
		if (s)
			return false;
		session_attach(c, f->stream, f->body);
		return true;
	case FRAME_FILE:
		if (s)
			return false;
		session_files(c, f->stream, f->body);
		guest_confine(c->guest);
		return true;
	case FRAME_LEAVE:
		session_leave(c, f, c->fds, c->n_fds);
		c->n_fds = 0;
		return true;
	case FRAME_STDIN:
		if (s)
			session_input(s, f->body);
		return true;
	case FRAME_CREDIT:
		if (s)
			session_credit(s, f->body);
		return true;
	case FRAME_RESIZE:
		if (s)
			session_resize(s, f->body);
		return true;
	case FRAME_SIGNAL:
		on_signal(c, s, f);
		return true;
	case FRAME_LIST:
		inquiry_list(c, f->stream);
		return true;
	case FRAME_LOOK:
		inquiry_look(c, f->stream, f->body);
		return true;
	case FRAME_FEED:
		inquiry_feed(c, f->stream, f->body);
		return true;
	case FRAME_STATE_GET:
		state_blob_get(c, f->stream);
		return true;
	case FRAME_STATE_PUT:
		state_blob_put(c, f->stream, f->body);
		return true;
	case FRAME_DETACH:
		if (s)
			session_detach(s);
		return true;
	case FRAME_PING:
		connection_send(c, FRAME_PONG, 0, f->stream, NULL, 0);
		return true;
	case FRAME_TOUCH:
		channel_send(c->guest, FRAME_ACTIVITY, c->guest->n_running ? FRAME_FLAG_BUSY : 0, 0,
			     NULL, 0);
		connection_send(c, FRAME_PONG, 0, f->stream, NULL, 0);
		return true;
	case FRAME_QUIT:
		on_quit(c, f->stream);
		return true;
	default:
		/* the protocol says that frames which only newer clients know are ignored */
		return true;
	}
}

static int take_frame(void *arg, const struct frame *f)
{
	if (!on_frame(arg, f))
		return -EPROTO;
	return connection_hold(arg) ? FRAME_PAUSE : 0;
}

/* Handles the frames that waited, and the frames in the N bytes at P. Closes the connection if
 * a frame is invalid or not allowed, or if there is no memory for the answers. */
static void take_frames(struct connection *c, const char *p, size_t n)
{
	if (frame_feed(&c->in, p, n, take_frame, c) < 0 || buf_failed(&c->out))
		connection_close(c, bytes_heard(c, false));
	else if (c->held)
		connection_flush(c); /* also stops the loop from reading requests */
}

/* Called when the client has read so much that the queue is short again. Goes on with the held
 * requests and answers. */
static void resume(struct connection *c)
{
	c->held = false;
	connection_flush(c);
	looks_resume(c);
	if (!c->held)
		take_frames(c, NULL, 0);
}

static void on_connection(void *arg, int fd, uint32_t events)
{
	struct connection *c = arg;
	char chunk[READ_CHUNK_BYTES];
	unsigned got = 0;
	ssize_t n;

	if (events & LOOP_WRITE)
		connection_flush(c);
	if (c->held && !(events & LOOP_HANGUP)) {
		if (c->out.n <= CONNECTION_WAITING_BYTES)
			resume(c); /* may close the connection */
		else
			connection_flush(c);
		return;
	}
	if (!(events & (LOOP_READ | LOOP_HANGUP)))
		return;
	n = fdpass_recv(fd, chunk, sizeof(chunk), c->fds + c->n_fds, FRAME_FDS_MAX - c->n_fds,
			&got);
	if (n == -EAGAIN)
		return;
	c->n_fds += got;
	if (n <= 0) {
		/* ECONNRESET means that the client did not read all that we sent */
		connection_close(c, n < 0 ? 0 : bytes_heard(c, true));
		return;
	}
	sessions_release_known(c, bytes_heard(c, false));
	take_frames(c, chunk, (size_t)n);
}

static void connection_open(struct guest *g, int sock)
{
	struct connection *c = xcalloc(1, sizeof(*c));

	c->guest = g;
	c->fd = sock;
	buf_init(&c->in, FRAME_BODY_MAX_BYTES + FRAME_HEADER_BYTES + READ_CHUNK_BYTES);
	buf_init(&c->out, GUEST_CONNECTION_QUEUE_BYTES);
	c->watch = loop_add_fd(g->loop, sock, LOOP_READ, on_connection, c);
	if (!c->watch) {
		close(sock);
		free(c);
		return;
	}
	c->next = g->connections;
	g->connections = c;
	g->n_connections++;
}

static void listen_again(void *arg)
{
	struct guest *g = arg;

	loop_change_fd(g->loop, g->listener_watch, LOOP_READ);
}

/* Returns true if pid 1 has few descriptors left. A command would fail if it found none, so new
 * clients wait in the backlog instead. Each client needs two descriptors: its socket and the scope
 * of its command. At most GUEST_HELD_MAX running commands count as two descriptors each, because
 * pid 1 keeps their two output pipes open (`held` in guest/session.h). Every other running command
 * counts as one descriptor, for a terminal or a pipe. A spare scope needs two descriptors, a
 * launcher needs three. */
static bool is_crowded(const struct guest *g)
{
	uint64_t held = g->n_running < GUEST_HELD_MAX ? g->n_running : GUEST_HELD_MAX;
	uint64_t used = g->base_fds + 2 * g->n_connections + g->n_running + held + g->n_left_pipes +
			2 * g->scopes.n_spare + 3 * g->scopes.n_launchers +
			BACKGROUND_FDS * g->backgrounds.n + g->reporters.n;

	return used + SPARE_FDS >= g->max_fds;
}

void server_has_room(struct guest *g)
{
	if (!is_crowded(g))
		listen_again(g);
}

static void on_listener(void *arg, int fd, uint32_t events)
{
	struct guest *g = arg;
	int sock = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (sock < 0) {
		/* there are no descriptors or no memory. New clients wait until another client
		 * leaves, or for ACCEPT_RETRY_NS if there is no other client */
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
			loop_change_fd(g->loop, g->listener_watch, 0);
			if (!g->connections)
				loop_add_timer(g->loop, clock_mono_ns() + ACCEPT_RETRY_NS,
					       listen_again, g);
		}
		return;
	}
	if (g->stopping || getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
	    peer.pid != 0) {
		close(sock);
		return;
	}
	connection_open(g, sock);
	if (g->connections && is_crowded(g))
		/* accept no more clients until a client leaves or server_has_room() is called */
		loop_change_fd(g->loop, g->listener_watch, 0);
}

int server_open(struct guest *g)
{
	struct rlimit l;
	int lowest;

	g->max_fds = getrlimit(RLIMIT_NOFILE, &l) == 0 ? l.rlim_cur : UINT64_MAX;
	lowest = fcntl(g->listener, F_DUPFD_CLOEXEC, 0); /* all lower numbers are in use */
	g->base_fds = lowest < 0 ? 0 : (uint64_t)lowest;
	fd_closep(&lowest);
	g->listener_watch = loop_add_fd(g->loop, g->listener, LOOP_READ, on_listener, g);
	if (!g->listener_watch)
		return -errno;
	if (g->first_connection >= 0) {
		IGNORE(fcntl(g->first_connection, F_SETFL,
			     O_NONBLOCK)); /* cannot fail on a socket */
		connection_open(g, g->first_connection);
	}
	return 0;
}
