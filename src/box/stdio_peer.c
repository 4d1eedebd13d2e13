#include "box/stdio_peer.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/rpc.h"
#include "box/stream.h"
#include "wire/frame_stdio.h"

/* The most bytes of one message, written as lines (wire/frame_stdio.h). A long message is sent in
 * pieces, and each piece is a JSON string. The message is JSON already, so its quotes and
 * backslashes are escaped a second time and take more room. */
#define LINES_MAX_BYTES (128u << 20)

struct stdio_peer {
	struct server *server;
	struct stream *stream;
	struct rpc *rpc;
	struct stdio_reader reader;
	struct holding held; /* memory that the member `reader` takes */
};

static void end(struct stdio_peer *p)
{
	rpc_free(p->rpc);
	stream_free(p->stream);
	stdio_reader_done(&p->reader);
	holding_done(&p->held);
	server_stop(p->server);
	free(p);
}

static size_t on_input(void *arg, const char *bytes, size_t n)
{
	struct stdio_peer *p = arg;
	struct str in = { bytes, n }, message;
	int r;

	while ((r = stdio_next(&p->reader, &in, &message)) > 0)
		if (rpc_take(p->rpc, message) < 0)
			break;
	if (!holding_set(&p->held, stdio_held_bytes(&p->reader)))
		r = -ENOMEM;
	/* if a message is broken, or if no memory is left, we take no further input */
	if (r != 0)
		stream_finish(p->stream);
	return n;
}

static void on_gone(void *arg)
{
	end(arg);
}

static void send_message(void *arg, struct str message)
{
	struct stdio_peer *p = arg;
	AUTO_BUF lines = BUF_INIT(LINES_MAX_BYTES);

	stdio_put(&lines, message);
	stream_send(p->stream, &lines);
}

int stdio_peer_open(struct server *s, bool legacy)
{
	struct stdio_peer *p = xcalloc(1, sizeof(*p));
	const struct rpc_transport transport = { send_message, p };
	const struct stream_user user = { .input = on_input, .gone = on_gone, .arg = p };
	int r = stream_new(s->loop, STDIN_FILENO, STDOUT_FILENO, s->ceiling, &user, &p->stream);

	if (r < 0) {
		free(p);
		return r;
	}
	p->server = s;
	stdio_reader_init(&p->reader);
	p->held.ceiling = s->ceiling;
	p->rpc = rpc_new(s, legacy, &transport);
	return 0;
}
