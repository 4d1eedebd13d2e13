/* Redacts any bytes as if they were the text of a failure. As in a real failure, bytes that are not
 * UTF-8 are replaced first. The result must stay within its bound. A key that the test puts into
 * the middle of the text must be redacted. */
#include "service/redaction.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT_MAX_BYTES 65536u
#define KEY "sk-fuzz0fuzz1fuzz2fuzz3"

static void redact(struct str text, struct buf *out)
{
	redaction_write(text, out);
	if (buf_failed(out))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUF clean = BUF_INIT(3 * size + 1), out = BUF_INIT(9 * size + 1),
		 text = BUF_INIT(3 * size + 64), hidden = BUF_INIT(9 * size + 192);
	size_t half;
	bool bad;

	if (size > TEXT_MAX_BYTES)
		return 0;
	buf_add_utf8(&clean, (const char *)data, size);
	redact((struct str){ buf_str(&clean), clean.n }, &out);
	if (out.n > 3 * clean.n)
		abort();
	/* Skip an input that has the key itself: there the key may be a part of a longer word. Such
	 * a key is not redacted, and the search below would find it. */
	if (memmem(buf_str(&clean), clean.n, KEY, strlen(KEY)))
		return 0;
	half = utf8_prefix(buf_str(&clean), clean.n / 2, &bad);
	buf_add(&text, buf_str(&clean), half);
	buf_add_str(&text, " " KEY " ");
	buf_add(&text, buf_str(&clean) + half, clean.n - half);
	redact((struct str){ buf_str(&text), text.n }, &hidden);
	if (memmem(buf_str(&hidden), hidden.n, KEY, strlen(KEY)))
		abort();
	return 0;
}
