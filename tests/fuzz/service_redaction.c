/* Any bytes as the text of a failure. The result stays within its bound, and a key in the middle of the text never
 * survives. */
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
	AUTO_BUF out = BUF_INIT(3 * size + 1), text = BUF_INIT(size + 64),
		 hidden = BUF_INIT(3 * size + 192);

	if (size > TEXT_MAX_BYTES)
		return 0;
	redact((struct str){ (const char *)data, size }, &out);
	buf_add(&text, data, size / 2);
	buf_add_str(&text, " " KEY " ");
	buf_add(&text, data + size / 2, size - size / 2);
	redact((struct str){ buf_str(&text), text.n }, &hidden);
	if (memmem(buf_str(&hidden), hidden.n, KEY, strlen(KEY)))
		abort();
	return 0;
}
