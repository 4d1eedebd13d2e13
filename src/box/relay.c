#include "box/relay.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "box/stream.h"

struct relay {
	struct peer *peer;
	struct attachment attachment;
	loop_id timer;
	bool waits_for_pong;
	bool full; /* the process does not read its input, so we do not read from the peer */
	bool over;
};

static void set_timer(struct relay *r, uint64_t ms);

static uint64_t ping_ms(const struct relay *r)
{
	return peer_server(r->peer)->ping_ms;
}

/* Returns how many milliseconds the peer has to answer a ping: half of the time between two
 * pings. */
static uint64_t pong_ms(const struct relay *r)
{
	return ping_ms(r) / 2;
}

static void on_timer(void *arg)
{
	struct relay *r = arg;

	r->timer = 0;
	if (r->waits_for_pong && !r->full) {
		peer_drop(r->peer);
		return;
	}
	/* while we do not read from the peer, we cannot receive its pong */
	r->waits_for_pong = !r->full;
	if (r->waits_for_pong)
		peer_send(r->peer, WEBSOCKET_PING, "", 0);
	set_timer(r, r->full ? ping_ms(r) : pong_ms(r));
}

static void set_timer(struct relay *r, uint64_t ms)
{
	struct loop *loop = peer_server(r->peer)->loop;

	loop_remove(loop, &r->timer);
	r->timer = loop_add_timer(loop, clock_mono_ns() + ms * NS_PER_MS, on_timer, r);
	if (!r->timer)
		out_of_memory();
}

static void on_pong(void *arg)
{
	struct relay *r = arg;

	r->waits_for_pong = false;
	set_timer(r, ping_ms(r));
}

/* --- from the process ------------------------------------------------------------------------ */

static bool on_line(void *arg, const char *p, size_t n)
{
	struct relay *r = arg;
	AUTO_BUF clean = BUF_INIT(3 * n + 1); /* a byte that is not UTF-8 becomes three bytes */

	if (utf8_valid(p, n)) {
		peer_send_soon(r->peer, WEBSOCKET_TEXT, p, n);
	} else {
		buf_add_utf8(&clean, p, n);
		peer_send_soon(r->peer, WEBSOCKET_TEXT, clean.p, clean.n);
	}
	return peer_queued(r->peer) < STREAM_HIGH_WATER_BYTES;
}

static void on_drained(void *arg)
{
	struct relay *r = arg;

	attachment_resume(&r->attachment);
}

static void on_room(void *arg)
{
	struct relay *r = arg;

	r->full = false;
	peer_resume(r->peer);
}

static void on_over(void *arg, unsigned code)
{
	struct relay *r = arg;

	r->over = true;
	peer_close(r->peer, (enum websocket_code)code, "");
}

/* --- from the peer --------------------------------------------------------------------------- */

static bool on_message(void *arg, enum websocket_opcode type, struct str payload)
{
	struct relay *r = arg;

	if (type != WEBSOCKET_TEXT || r->over)
		return true;
	r->full = !attachment_say(&r->attachment, payload.p, payload.n);
	return !r->full;
}

/* Called when our close frame was queued. Detaches from the process at once, because lines that the
 * process prints from now on could not be sent any more. They are for the next relay, which must
 * not wait until this peer has read its queue or sent its own close frame. */
static void on_closing(void *arg)
{
	struct relay *r = arg;

	if (!r->over)
		process_detach(&r->attachment);
	r->over = true;
}

static void on_gone(void *arg)
{
	struct relay *r = arg;

	loop_remove(peer_server(r->peer)->loop, &r->timer);
	process_detach(&r->attachment);
	free(r);
}

void relay_open(struct peer *p, struct process *process)
{
	struct relay *r = xcalloc(1, sizeof(*r));
	const struct peer_protocol protocol = { .message = on_message,
						.drained = on_drained,
						.pong = on_pong,
						.closing = on_closing,
						.gone = on_gone,
						.arg = r };

	r->peer = p;
	r->attachment =
		(struct attachment){ .line = on_line, .room = on_room, .over = on_over, .arg = r };
	peer_upgrade(p, websocket_offers(peer_request(p), "mcp") ? "mcp" : NULL, &protocol);
	set_timer(r, ping_ms(r));
	process_attach(process, &r->attachment);
}
