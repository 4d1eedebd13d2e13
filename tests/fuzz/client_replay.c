/* A client attaches to a program and shows its kept output. The first byte of the input is the
 * number of rows of the client's terminal. The second byte says how many bytes at the end of the
 * kept output no client has seen yet. The rest is the kept output. The shown text must not contain
 * a control sequence that a terminal answers: the program would get the answer as input. The text
 * must set only modes that are in ATTACHED, the message of pid 1. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "client/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUF text = BUF_INIT(REPLAY_MAX_BYTES), screen = BUF_INIT(SCREEN_TEXT_MAX_BYTES);
	struct screen now = { 0 }, got = { 0 };
	struct attached_message m;
	struct replay r;

	if (size < 2 || size > BACKGROUND_OUTPUT_BYTES)
		return 0;
	screen_feed(&now, (const char *)data + 2, size - 2);
	screen_enter(&now, &screen);
	m = (struct attached_message){ .kept = size - 2, .screen = { screen.p, screen.n } };
	m.fresh = data[1] < m.kept ? data[1] : m.kept;
	replay_begin(&r, &m);
	replay_add(&r, (const char *)data + 2, size - 2);
	if (!replay_is_complete(&r))
		abort();
	replay_show(&r, data[0], &got, &text);
	replay_done(&r);
	if (buf_failed(&text) || screen_is_alternate(&got) != screen_is_alternate(&now))
		abort();
	got = (struct screen){ 0 };
	for (size_t i = 0; i < text.n; i++)
		if (screen_take(&got, (unsigned char)text.p[i]) == SCREEN_OTHER)
			abort();
	/* `doubt` is set if the text has a control character of 8 bits, as one byte or in UTF-8 */
	if (got.modes & ~now.modes || got.doubt)
		abort();
	return 0;
}
