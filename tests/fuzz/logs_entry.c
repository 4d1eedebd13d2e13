/* Parses any bytes as a line of a log and renders it in every way. Output for a terminal must have
 * no control sequences, unless sessions have colours. */
#include <stdint.h>

#include "logs/render.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_harmless(const struct buf *out)
{
	for (size_t i = 0; i < out->n; i++) {
		unsigned char c = (unsigned char)out->p[i];
		unsigned char before = i ? (unsigned char)out->p[i - 1] : 0;

		if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ||
		    (before == 0xc2 && c >= 0x80 && c < 0xa0))
			__builtin_trap();
	}
	if (!utf8_valid(buf_str(out), out->n))
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str line = { (const char *)data, size };
	struct entry e;

	entry_init(&e);
	if (entry_parse(&e, line) < 0)
		entry_from_text(&e, line, size * NS_PER_SEC);
	for (unsigned bits = 0; bits < 48; bits++) {
		AUTO_BUF out = BUF_INIT(64u << 20);
		struct render r = { .json = bits & 1,
				    .timestamps = bits & 2,
				    .show_id = bits & 4,
				    .colour_sessions = bits & 8,
				    .bytes = bits >> 4 };

		render_entry(&out, &r, &e);
		if (buf_failed(&out))
			__builtin_trap();
		if (r.bytes == RENDER_TERMINAL && !r.colour_sessions)
			check_harmless(&out);
	}
	entry_done(&e);
	return 0;
}
