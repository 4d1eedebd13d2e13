#include <stdlib.h>

#include "host/mountinfo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = { (const char *)data, size };
	struct mountinfo m;
	char out[64];

	while (mountinfo_next(&rest, &m)) {
		if (mountinfo_unescape(m.point, out, sizeof(out)) == 0 && strlen(out) > m.point.n)
			abort();
		mountinfo_has_option(m.super, "memory");
	}
	return 0;
}
