/* Feeds any bytes to the decoder of WebSocket messages, in both roles. Checks that the decoded
 * messages do not depend on how the bytes are cut, that each text message is valid UTF-8, and that
 * no message is longer than the limit. */
#include "wire/websocket.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MESSAGE_MAX 4096u

static const unsigned char mask[] = { 1, 2, 0xff, 0x80 };

static void check_event(const struct websocket_event *ev)
{
	switch (ev->type) {
	case WEBSOCKET_TEXT:
		if (!utf8_valid(ev->payload.p, ev->payload.n))
			abort();
		__attribute__((fallthrough));
	case WEBSOCKET_BINARY:
		if (ev->payload.n > MESSAGE_MAX)
			abort();
		break;
	case WEBSOCKET_CLOSE:
		if (!utf8_valid(ev->payload.p, ev->payload.n) || ev->code < 1000 || ev->code > 4999)
			abort();
		__attribute__((fallthrough));
	case WEBSOCKET_PING:
	case WEBSOCKET_PONG:
		if (ev->payload.n > WEBSOCKET_CONTROL_MAX_BYTES)
			abort();
		break;
	default:
		abort();
	}
}

/* Gives ALL to a new decoder in pieces of STEP bytes, and checks every message that comes out.
 * Writes the messages and the error of the decoder to OUT, so that two runs can be compared. */
static void hear(enum websocket_role role, struct str all, size_t step, struct buf *out)
{
	const unsigned char *m = role == WEBSOCKET_SERVER ? mask : NULL;
	struct websocket w;
	struct websocket_event ev;
	int r = 0;

	websocket_init(&w, role, MESSAGE_MAX);
	while (all.n && r >= 0) {
		struct str in = { all.p, all.n < step ? all.n : step };

		all.p += in.n;
		all.n -= in.n;
		while ((r = websocket_next(&w, &in, &ev)) == 1) {
			check_event(&ev);
			if (ev.type != WEBSOCKET_CLOSE)
				websocket_put(out, ev.type, m, ev.payload.p, ev.payload.n);
			else
				buf_addf(out, "%d", ev.code);
		}
		if ((r == 0 && in.n) || (r < 0) != (w.failed != 0))
			abort();
		if (websocket_held_bytes(&w) > MESSAGE_MAX + 512)
			abort();
	}
	buf_addf(out, "!%d", w.failed);
	websocket_done(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	for (unsigned i = 0; i < 2; i++) {
		enum websocket_role role = (data[0] & 1) ^ i ? WEBSOCKET_SERVER : WEBSOCKET_CLIENT;
		struct str all = { (const char *)data + 1, size - 1 };
		AUTO_BUF whole = BUF_INIT(16u << 20), pieces = BUF_INIT(16u << 20);

		hear(role, all, size, &whole);
		hear(role, all, 1 + data[0] / 2 % 16, &pieces);
		if (buf_failed(&whole) || buf_failed(&pieces) || whole.n != pieces.n ||
		    memcmp(whole.p, pieces.p, whole.n) != 0)
			abort();
	}
	return 0;
}
