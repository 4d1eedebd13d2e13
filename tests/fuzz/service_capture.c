/* Passes any bytes, in pieces, to a capture and to a preview, as the output of a command. The
 * capture has a small or a large ceiling. The text that each of them makes for a peer must be UTF-8
 * and must stay within its bounds. The capture must give all its bytes back to the ceiling. */
#include "service/capture.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/json.h"
#include "service/preview.h"
#include "service/python.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_capture(struct str in, size_t piece, size_t limit, size_t json_max, size_t most)
{
	struct ceiling top = { .max = most };
	struct capture c;

	capture_init(&c, &top, limit);
	for (size_t at = 0; at < in.n; at += piece)
		capture_add(&c, in.p + at, in.n - at < piece ? in.n - at : piece);
	if (c.head.n > limit || c.head.n + c.dropped != in.n || top.used > top.max)
		abort();
	{
		AUTO_BUF b = BUF_INIT(capture_render_max(&c));

		capture_render(&c, json_max, &b);
		if (buf_failed(&b) || !utf8_valid(buf_str(&b), b.n))
			abort();
	}
	capture_done(&c);
	if (top.used != 0)
		abort();
}

static void check_preview(struct str in, size_t piece)
{
	AUTO_BUF b = BUF_INIT(PREVIEW_HELD_BYTES);
	struct preview p;

	preview_init(&p);
	for (size_t at = 0; at < in.n; at += piece)
		preview_add(&p, in.p + at, in.n - at < piece ? in.n - at : piece);
	preview_render(&p, &b);
	if (buf_failed(&b) || !utf8_valid(buf_str(&b), b.n) ||
	    python_length((struct str){ buf_str(&b), b.n }) > PREVIEW_CHARACTERS)
		abort();
	preview_done(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str in = { (const char *)data, size };
	size_t piece;

	if (size < 2)
		return 0;
	piece = data[0] + 1u;
	in.p += 2;
	in.n -= 2;
	check_capture(in, piece, 1 << 20, 0, 1 << 24);
	check_capture(in, piece, data[1] + 1u, 0, 1 << 24);
	check_capture(in, piece, 1 << 20, 64u + data[1], 1 << 24);
	check_capture(in, piece, 1 << 20, 0, 16u * data[1]);
	check_preview(in, piece);
	return 0;
}
