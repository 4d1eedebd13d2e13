/*
 * The Box server: one thread with an event loop, which reads what peers send. It has no access to
 * files, no capability and few system calls. Hands (client/hands.h) and the skill worker do the
 * work that needs more rights. The parent process made the server's channels to these processes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "box/handshake.h"
#include "loop/loop.h"
#include "service/ceiling.h"
#include "service/runtime.h"
#include "wire/websocket.h"

#define SERVER_CONNECTIONS_MAX 1024u /* further connections are closed at once */
#define SERVER_UNIDENTIFIED_MAX 64u  /* connections that have not identified themselves */

struct server {
	struct loop *loop;
	struct handshake_trust trust; /* the peers that may connect */
	struct ceiling *ceiling;
	int diag; /* descriptor for socket_owner_is(), or -1 */
	unsigned uid;
	uint64_t ping_ms; /* time between two pings of a relay */
	int listener;
	loop_id listen_watch;
	loop_id listen_again; /* timer that ends the pause of pause_listening() */
	struct peer *peers;
	unsigned n_peers, n_unidentified;
	struct rpc *rpcs;
	struct runtime *runtime;
	bool stopping; /* the server accepts no new peer */
	bool dropped;  /* server_stop() was called, and all sessions have ended since */
};

/* Begins to accept connections. Returns 0 or -errno. */
MUST_USE int server_listen(struct server *s);
/* Begins to close all connections and to end all sessions. When all have ended, stops the loop. */
void server_stop(struct server *s);
/* Must be called when a connection has ended. */
void server_peer_left(struct server *s);
