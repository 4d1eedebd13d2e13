#include "box/rpc_peer.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "box/rpc.h"

struct rpc_peer {
	struct peer *peer;
	struct rpc *rpc;
};

static bool on_message(void *arg, enum websocket_opcode type, struct str payload)
{
	struct rpc_peer *r = arg;
	int took = 0;

	if (type != WEBSOCKET_TEXT)
		peer_close(r->peer, WEBSOCKET_UNSUPPORTED_DATA, "messages are text");
	else
		took = rpc_take(r->rpc, payload);
	if (took < 0)
		peer_close(r->peer, WEBSOCKET_TOO_BIG,
			   took == -ENOMEM ? "the server is short of memory" : "");
	return true;
}

static void on_gone(void *arg)
{
	struct rpc_peer *r = arg;

	rpc_free(r->rpc);
	free(r);
}

static void send_message(void *arg, struct str message)
{
	struct rpc_peer *r = arg;

	peer_send(r->peer, WEBSOCKET_TEXT, message.p, message.n);
}

void rpc_peer_open(struct peer *p, bool legacy)
{
	struct rpc_peer *r = xcalloc(1, sizeof(*r));
	const struct rpc_transport transport = { send_message, r };
	const struct peer_protocol protocol = { .message = on_message, .gone = on_gone, .arg = r };

	r->peer = p;
	r->rpc = rpc_new(peer_server(p), legacy, &transport);
	peer_upgrade(p, NULL, &protocol);
}
