/*
 * The Box server: one thread on a loop that reads peers. It holds no file system, no capability and few system calls; what
 * needs more is done by hands and by the skill worker, over channels that were made before.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "box/handshake.h"
#include "loop/loop.h"
#include "service/ceiling.h"
#include "service/runtime.h"
#include "wire/websocket.h"

#define SERVER_CONNECTIONS_MAX 1024u /* beyond it connections are closed at once */
#define SERVER_STRANGERS_MAX 64u     /* of them: those that have not shown who they are */

struct server {
	struct loop *loop;
	struct handshake_trust trust; /* who may come in */
	struct ceiling *ceiling;
	int diag; /* for questions about who has a socket, or -1 */
	unsigned uid;
	int listener;
	loop_id listen_watch;
	loop_id listen_again; /* no descriptor was left; the server listens again later */
	struct peer *peers;
	unsigned n_peers, n_strangers;
	struct rpc *rpcs;
	struct runtime *runtime;
	bool stopping; /* nobody new is let in */
	bool dropped;  /* … and no session is left */
};

/* Begins to accept connections. -errno. */
MUST_USE int server_listen(struct server *s);
/* Closes connections and ends sessions, then stops the loop. */
void server_stop(struct server *s);
/* A connection has ended. */
void server_peer_left(struct server *s);
