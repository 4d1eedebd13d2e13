/* Reads any bytes as a text, once whole and once in pieces. The two resulting windows must be the
 * same, must be valid UTF-8 and must stay within their bounds. The first four bytes of the input
 * choose the bounds and the size of the pieces. */
#include "files/window.h"

#include <stdlib.h>

#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(struct window *w, const char *p, size_t n, size_t piece)
{
	while (n > 0) {
		size_t m = n < piece ? n : piece;

		if (!window_add(w, p, m))
			return;
		p += m;
		n -= m;
	}
	window_end(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct window a, b;

	if (size < 4)
		return 0;
	window_init(&a, 1u + data[0] % 8, 1u + data[1] % 8, 1u + data[2]);
	window_init(&b, 1u + data[0] % 8, 1u + data[1] % 8, 1u + data[2]);
	read_all(&a, (const char *)data + 4, size - 4, 1u + data[3]);
	read_all(&b, (const char *)data + 4, size - 4, size);
	if (a.content.n > a.max_bytes || a.taken > a.max_lines || a.content.n != b.content.n ||
	    memcmp(buf_str(&a.content), buf_str(&b.content), a.content.n) != 0 ||
	    a.limit != b.limit || a.too_long != b.too_long ||
	    !utf8_valid(buf_str(&a.content), a.content.n))
		abort();
	window_done(&a);
	window_done(&b);
	return 0;
}
