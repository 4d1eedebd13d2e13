/* Any bytes as a line of a log: parsed, then rendered in every way. */
#include <stdint.h>

#include "logs/render.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str line = { (const char *)data, size };
	struct entry e;

	entry_init(&e);
	if (entry_parse(&e, line) < 0)
		entry_from_text(&e, line, size * NS_PER_SEC);
	for (unsigned bits = 0; bits < 32; bits++) {
		AUTO_BUF out = BUF_INIT(64u << 20);
		struct render r = { .json = bits & 1,
				    .timestamps = bits & 2,
				    .show_id = bits & 4,
				    .strip = bits & 8,
				    .colour_sessions = bits & 16 };

		render_entry(&out, &r, &e);
		if (buf_failed(&out))
			__builtin_trap();
	}
	entry_done(&e);
	return 0;
}
