/*
 * One TCP connection: a request by HTTP, and perhaps a WebSocket after it. A peer that has not shown who it is within ten
 * seconds is hung up on.
 */
#pragma once

#include "box/server.h"

struct peer;

#define PEER_HANDSHAKE_MS 10000
#define PEER_CLOSE_MS 2000 /* for the answer to our close frame */

/* What speaks on a WebSocket once it is open: the RPC, or the relay of a process. */
struct peer_protocol {
	/* Whole messages. False: no more until peer_resume(). */
	bool (*message)(void *arg, enum websocket_opcode type, struct str payload);
	void (*drained)(void *arg); /* nothing is queued any more; may be NULL */
	void (*pong)(void *arg);    /* may be NULL */
	void (*closing)(
		void *arg); /* our close frame is sent, and the peer's is awaited; may be NULL */
	void (*gone)(void *arg); /* exactly once; the peer is freed afterwards */
	void *arg;
};

/* Takes FD. */
void peer_new(struct server *s, int fd, bool from_loopback);
/* Ends all connections: with a close frame where there is a WebSocket. */
void peers_close(struct server *s, enum websocket_code code, const char *reason);
/* Hangs up on the peer that has the most unread bytes queued, and forgets them. Returns false if no queue is long. */
bool peers_relieve(struct server *s);

/* For the routes: */
const struct http_request *peer_request(const struct peer *p);
struct server *peer_server(const struct peer *p);
int peer_fd(const struct peer *p);
bool peer_is_local(const struct peer *p); /* it connected over loopback */
/* The answer comes later; GONE is called if the peer leaves before. */
void peer_await(struct peer *p, void (*gone)(void *arg), void *arg);
/* Answers and hangs up. */
void peer_answer(struct peer *p, unsigned status, const char *type, struct str body);
/* Opens the WebSocket. SUBPROTOCOL may be NULL. */
void peer_upgrade(struct peer *p, const char *subprotocol, const struct peer_protocol *protocol);

void peer_send(struct peer *p, enum websocket_opcode type, const void *data, size_t n);
/* The same, but what one handler of the loop sends goes out together. */
void peer_send_soon(struct peer *p, enum websocket_opcode type, const void *data, size_t n);
size_t peer_queued(const struct peer *p);
void peer_resume(struct peer *p);
void peer_close(struct peer *p, enum websocket_code code, const char *reason);
/* Hangs up without a word. */
void peer_drop(struct peer *p);
