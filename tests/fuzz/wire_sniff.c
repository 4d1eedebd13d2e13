/* Reads a stream of bytes, whole and in pieces. How the stream is cut must change neither the names
 * that are found nor the bytes that pass. */
#include "wire/sniff.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SNIFF_MAX 64

struct seen {
	size_t judged;
	unsigned n;
	struct {
		enum hello_kind kind;
		size_t at;
	} hello[SNIFF_MAX];
};

/* Acts as the gateway does: gives sniff_next() PIECE more bytes each time, and allows every name.
 * Stops at a bad hello. */
static void follow(const uint8_t *p, size_t n, size_t piece, bool http, struct seen *ret)
{
	struct sniff s = { .http = http };
	size_t have = 0, wanted = 0, more;
	struct hello h;

	*ret = (struct seen){ 0 };
	while (have < n) {
		have = n - have < piece ? n : have + piece;
		while (have > ret->judged && have - ret->judged >= wanted) {
			enum sniff_step step =
				sniff_next(&s, p + ret->judged, have - ret->judged, &more, &h);

			wanted = 0;
			if (step == SNIFF_WAIT) {
				wanted = h.n;
				break;
			}
			if (step == SNIFF_PASS) {
				if (more == 0 || more > have - ret->judged)
					abort();
				ret->judged += more;
				continue;
			}
			if (ret->n < SNIFF_MAX) {
				ret->hello[ret->n].kind = h.kind;
				ret->hello[ret->n++].at = ret->judged;
			}
			if (h.kind == HELLO_BAD || h.kind == HELLO_MORE)
				return;
			sniff_allow(&s, &h);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct seen whole, parts;

	if (size < 2)
		return 0;
	follow(data + 1, size - 1, size, data[0] & 1, &whole);
	follow(data + 1, size - 1, 1 + (data[0] >> 1) % 16, data[0] & 1, &parts);
	if (parts.judged != whole.judged || parts.n != whole.n ||
	    memcmp(parts.hello, whole.hello, sizeof(whole.hello)) != 0)
		abort();
	return 0;
}
