/*
 * One TCP connection: an HTTP request, and perhaps a WebSocket after it. A peer is unidentified
 * until its request is complete and answered. If this takes more than ten seconds, the server
 * closes the connection.
 */
#pragma once

#include "box/server.h"

struct peer;

/* how long a peer may be unidentified */
#define PEER_HANDSHAKE_MS 10000
#define PEER_CLOSE_MS 2000 /* how long a close may take: the last bytes and the close frame */

/* The callbacks of the code that uses an open WebSocket: the RPC, or the relay of a process. */
struct peer_protocol {
	/* Handles a whole message. Returns false to get no more messages until peer_resume(). */
	bool (*message)(void *arg, enum websocket_opcode type, struct str payload);
	void (*drained)(void *arg); /* the output queue is empty; may be NULL */
	void (*pong)(void *arg);    /* may be NULL */
	/* Called when our close frame was queued. From now on the peer gets no more messages. May
	 * be NULL. */
	void (*closing)(void *arg);
	void (*gone)(void *arg); /* called exactly once, before the peer is freed */
	void *arg;
};

/* Makes a peer for the connected socket FD, and takes over FD. */
void peer_new(struct server *s, int fd, bool from_loopback);
/* Ends all connections. A WebSocket gets a close frame first. */
void peers_close(struct server *s, enum websocket_code code, const char *reason);
/* Closes the oldest connection whose request is not complete or not answered. */
void peers_drop_unidentified(struct server *s);
/* Closes the connection with the longest output queue, and drops the queue. Returns false if every
 * queue is shorter than STREAM_HIGH_WATER_BYTES. */
bool peers_relieve(struct server *s);

/* functions that the routes (box/routes.h) call */
const struct http_request *peer_request(const struct peer *p);
struct server *peer_server(const struct peer *p);
int peer_fd(const struct peer *p);
bool peer_is_local(const struct peer *p); /* the peer connected over loopback */
/* A route calls this if it cannot answer the request at once. GONE is called if the peer leaves
 * before the answer. */
void peer_await(struct peer *p, void (*gone)(void *arg), void *arg);
/* Answers and closes the connection. */
void peer_answer(struct peer *p, unsigned status, const char *type, struct str body);
/* Opens the WebSocket. SUBPROTOCOL may be NULL. */
void peer_upgrade(struct peer *p, const char *subprotocol, const struct peer_protocol *protocol);

void peer_send(struct peer *p, enum websocket_opcode type, const void *data, size_t n);
/* Works like peer_send(), but all messages that one handler of the loop sends are written to the
 * socket together. */
void peer_send_soon(struct peer *p, enum websocket_opcode type, const void *data, size_t n);
size_t peer_queued(const struct peer *p);
void peer_resume(struct peer *p);
void peer_close(struct peer *p, enum websocket_code code, const char *reason);
/* Closes the connection without a close frame. */
void peer_drop(struct peer *p);
