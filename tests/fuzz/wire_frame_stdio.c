/* Reads any bytes as messages from a pipe. The messages must not depend on how the bytes are cut,
 * no message may be too long, and a written message must be read back unchanged. */
#include "wire/frame_stdio.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hear(struct str all, size_t step, struct buf *out)
{
	struct stdio_reader r;
	struct str message;
	int got = 0;

	stdio_reader_init(&r);
	while (all.n && got >= 0) {
		struct str in = { all.p, all.n < step ? all.n : step };

		all.p += in.n;
		all.n -= in.n;
		while ((got = stdio_next(&r, &in, &message)) == 1) {
			if (message.n > STDIO_MESSAGE_MAX_BYTES)
				abort();
			buf_add(out, message.p, message.n);
			buf_add_char(out, '|');
		}
		if (got == 0 && in.n)
			abort();
	}
	buf_add_char(out, got < 0 ? '!' : '.');
	stdio_reader_done(&r);
}

/* Writes the input in braces as one message and reads it back. Skips an input that could not come
 * back unchanged. */
static void check_writing(struct str text)
{
	AUTO_BUF out = BUF_INIT(64u << 20), back = BUF_INIT(64u << 20),
		 wrapped = BUF_INIT(64u << 20);

	if (!utf8_valid(text.p, text.n) || memchr(text.p, '\n', text.n) ||
	    memmem(text.p, text.n, "\"chunk_", 7))
		return;
	buf_add_char(&wrapped, '{');
	buf_add(&wrapped, text.p, text.n);
	buf_add_char(&wrapped, '}');
	stdio_put(&out, (struct str){ wrapped.p, wrapped.n });
	hear((struct str){ out.p, out.n }, 4096, &back);
	buf_add_str(&wrapped, "|.");
	if (wrapped.n != back.n || memcmp(wrapped.p, back.p, back.n) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str all = { (const char *)data, size };
	AUTO_BUF whole = BUF_INIT(64u << 20), pieces = BUF_INIT(64u << 20);

	hear(all, size + 1, &whole);
	hear(all, size ? 1 + data[0] % 16 : 1, &pieces);
	if (buf_failed(&whole) || whole.n != pieces.n || memcmp(whole.p, pieces.p, whole.n) != 0)
		abort();
	if (size)
		check_writing(all);
	return 0;
}
