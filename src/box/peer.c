#include "box/peer.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "box/routes.h"
#include "box/stream.h"

enum peer_state {
	PEER_HEAD,    /* the request is not complete, or waits for its answer */
	PEER_OPEN,    /* a WebSocket is open */
	PEER_CLOSING, /* we sent our close frame and wait for the peer's close frame */
	PEER_LEAVING, /* the last bytes are being sent */
};

struct peer {
	struct peer *next;
	struct server *server;
	struct stream *stream;
	enum peer_state state;
	bool local;
	bool paused;
	bool deaf; /* the peer broke the protocol, so its further bytes are dropped */
	loop_id timer;
	size_t seen; /* how many bytes were already searched for the end of the request's head */
	struct http_request request;
	struct str key;
	struct websocket ws;
	struct holding held; /* memory that the member `ws` takes */
	struct peer_protocol protocol;
};

static void peer_free(struct peer *p)
{
	struct server *s = p->server;
	struct peer **at = &s->peers;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	s->n_peers--;
	s->n_unidentified -= p->state == PEER_HEAD;
	loop_remove(s->loop, &p->timer);
	stream_free(p->stream);
	holding_done(&p->held);
	websocket_done(&p->ws);
	free(p);
	server_peer_left(s);
}

static void on_timer(void *arg)
{
	struct peer *p = arg;

	p->timer = 0;
	peer_drop(p);
}

static void set_timer(struct peer *p, unsigned ms)
{
	loop_remove(p->server->loop, &p->timer);
	p->timer = loop_add_timer(p->server->loop, clock_mono_ns() + ms * NS_PER_MS, on_timer, p);
	if (!p->timer)
		out_of_memory();
}

/* Sends the bytes that are still queued, and then closes the connection. If the bytes are not sent
 * in time, drops the peer: after PEER_CLOSE_MS, or when a timer that was already set fires. */
static void leave(struct peer *p)
{
	if (p->state == PEER_HEAD)
		p->server->n_unidentified--;
	p->state = PEER_LEAVING;
	if (!p->timer)
		set_timer(p, PEER_CLOSE_MS);
	stream_finish(p->stream);
}

/* --- WebSocket ------------------------------------------------------------------------------- */

void peer_send(struct peer *p, enum websocket_opcode type, const void *data, size_t n)
{
	AUTO_BUF b = BUF_INIT(n + WEBSOCKET_HEAD_MAX_BYTES);

	if (p->state != PEER_OPEN)
		return;
	websocket_put(&b, type, NULL, data, n);
	stream_send(p->stream, &b);
}

void peer_send_soon(struct peer *p, enum websocket_opcode type, const void *data, size_t n)
{
	unsigned char head[WEBSOCKET_HEAD_MAX_BYTES];

	if (p->state == PEER_OPEN)
		stream_add(p->stream, head, websocket_head(type, n, head), data, n);
}

size_t peer_queued(const struct peer *p)
{
	return stream_queued(p->stream);
}

void peer_close(struct peer *p, enum websocket_code code, const char *reason)
{
	AUTO_BUF b = BUF_INIT(256);

	if (p->state != PEER_OPEN)
		return;
	websocket_put_close(&b, NULL, code, reason);
	stream_send(p->stream, &b);
	p->state = PEER_CLOSING;
	p->paused = false;
	stream_read(p->stream, true);
	set_timer(p, PEER_CLOSE_MS);
	if (p->protocol.closing)
		p->protocol.closing(p->protocol.arg);
}

static void take_close(struct peer *p, const struct websocket_event *event)
{
	AUTO_BUF b = BUF_INIT(256);

	bool open = p->state == PEER_OPEN;

	if (open) {
		websocket_put_close(&b, NULL, event->code, "");
		stream_send(p->stream, &b);
	}
	leave(p);
	if (open && p->protocol.closing)
		p->protocol.closing(p->protocol.arg);
}

static void take_event(struct peer *p, const struct websocket_event *event)
{
	switch (event->type) {
	case WEBSOCKET_PING:
		peer_send(p, WEBSOCKET_PONG, event->payload.p, event->payload.n);
		break;
	case WEBSOCKET_PONG:
		if (p->protocol.pong)
			p->protocol.pong(p->protocol.arg);
		break;
	case WEBSOCKET_CLOSE:
		take_close(p, event);
		break;
	default:
		if (p->state == PEER_OPEN)
			p->paused =
				!p->protocol.message(p->protocol.arg, event->type, event->payload);
	}
}

static size_t take_frames(struct peer *p, const char *bytes, size_t n)
{
	struct str in = { bytes, n };
	struct websocket_event event;
	int r = 0;

	if (p->deaf)
		return n;

	while ((p->state == PEER_OPEN || p->state == PEER_CLOSING) && !p->paused) {
		r = websocket_next(&p->ws, &in, &event);
		if (r <= 0)
			break;
		take_event(p, &event);
	}
	p->deaf = r < 0;
	/* go on reading after an error: so the peer can finish sending its message, and then reads
	 * our close frame, which says what was wrong */
	if (r < 0)
		peer_close(p, p->ws.failed, "");
	else if (!holding_set(&p->held, websocket_held_bytes(&p->ws)))
		peer_close(p, WEBSOCKET_TOO_BIG, "the server is short of memory");
	stream_read(p->stream, !p->paused);
	return n - in.n;
}

void peer_resume(struct peer *p)
{
	if (!p->paused)
		return;
	p->paused = false;
	stream_read(p->stream, true);
}

/* --- HTTP ------------------------------------------------------------------------------------ */

void peer_await(struct peer *p, void (*gone)(void *arg), void *arg)
{
	p->protocol = (struct peer_protocol){ .gone = gone, .arg = arg };
}

void peer_answer(struct peer *p, unsigned status, const char *type, struct str body)
{
	AUTO_BUF b = BUF_INIT(body.n + 1024);

	p->protocol = (struct peer_protocol){ 0 };
	http_put_response(&b, status, type, body, true);
	stream_send(p->stream, &b);
	leave(p);
}

void peer_upgrade(struct peer *p, const char *subprotocol, const struct peer_protocol *protocol)
{
	AUTO_BUF b = BUF_INIT(1024);
	struct str key;

	/* cannot fail: the route has checked the request */
	IGNORE(websocket_check_request(&p->request, &key));
	websocket_put_agreement(&b, key, subprotocol);
	stream_send(p->stream, &b);
	websocket_init(&p->ws, WEBSOCKET_SERVER, WEBSOCKET_MESSAGE_MAX_BYTES);
	p->protocol = *protocol;
	p->server->n_unidentified--;
	p->state = PEER_OPEN;
	loop_remove(p->server->loop, &p->timer);
}

static size_t take_head(struct peer *p, const char *bytes, size_t n)
{
	struct str in = { bytes, n };
	int r = http_request_next(&in, &p->seen, 0, &p->request);

	if (r == 0)
		return 0; /* wait for more bytes; the length of a head is bounded */
	if (r < 0)
		peer_answer(p, (unsigned)-r, "text/plain", STR(""));
	else
		routes_take(p);
	return n - in.n;
}

static size_t on_input(void *arg, const char *bytes, size_t n)
{
	struct peer *p = arg;

	switch (p->state) {
	case PEER_HEAD: {
		size_t taken;

		/* ignore input while the peer waits for its answer */
		if (p->protocol.gone)
			return n;
		taken = take_head(p, bytes, n);
		return taken > 0 && taken < n && p->state == PEER_OPEN
			       ? taken + take_frames(p, bytes + taken, n - taken)
			       : taken;
	}
	case PEER_OPEN:
	case PEER_CLOSING:
		return take_frames(p, bytes, n);
	default:
		return n;
	}
}

static void on_drained(void *arg)
{
	struct peer *p = arg;

	if (p->protocol.drained && p->state == PEER_OPEN)
		p->protocol.drained(p->protocol.arg);
}

static void on_gone(void *arg)
{
	peer_drop(arg);
}

void peer_drop(struct peer *p)
{
	if (p->protocol.gone)
		p->protocol.gone(p->protocol.arg);
	peer_free(p);
}

/* --- the peer -------------------------------------------------------------------------------- */

const struct http_request *peer_request(const struct peer *p)
{
	return &p->request;
}

struct server *peer_server(const struct peer *p)
{
	return p->server;
}

int peer_fd(const struct peer *p)
{
	return stream_fd(p->stream);
}

bool peer_is_local(const struct peer *p)
{
	return p->local;
}

void peer_new(struct server *s, int fd, bool from_loopback)
{
	struct peer *p = xcalloc(1, sizeof(*p));
	const struct stream_user user = { on_input, on_drained, on_gone, p };

	p->server = s;
	p->held.ceiling = s->ceiling;
	p->local = from_loopback;
	if (stream_new(s->loop, fd, fd, s->ceiling, &user, &p->stream) < 0) {
		free(p);
		return;
	}
	p->next = s->peers;
	s->peers = p;
	s->n_peers++;
	s->n_unidentified++;
	set_timer(p, PEER_HANDSHAKE_MS);
}

void peers_close(struct server *s, enum websocket_code code, const char *reason)
{
	for (struct peer *p = s->peers; p; p = p->next)
		if (p->state == PEER_OPEN)
			peer_close(p, code, reason);
		else
			leave(p);
}

void peers_drop_unidentified(struct server *s)
{
	struct peer *oldest = NULL;

	for (struct peer *p = s->peers; p; p = p->next) /* the oldest peer is the last */
		if (p->state == PEER_HEAD)
			oldest = p;
	if (oldest)
		peer_drop(oldest);
}

bool peers_relieve(struct server *s)
{
	struct peer *fattest = NULL;

	for (struct peer *p = s->peers; p; p = p->next)
		if (!fattest || stream_queued(p->stream) > stream_queued(fattest->stream))
			fattest = p;
	if (!fattest || stream_queued(fattest->stream) < STREAM_HIGH_WATER_BYTES)
		return false;
	log_line(LOG_WARN, "hung up on a peer that does not read %zu bytes of answers",
		 stream_queued(fattest->stream));
	stream_abandon(fattest->stream);
	return true;
}
