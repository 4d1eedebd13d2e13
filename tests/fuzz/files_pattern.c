/* The first NUL divides the input into a pattern and a path. No input may crash, and one more `**`
 * in front of the pattern must not change whether the path matches. */
#include "files/pattern.h"

#include <stdlib.h>

#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str path = { (const char *)data, size };
	struct str text = str_cut(&path, '\0');
	AUTO_FREE char *longer = xasprintf("**/%.*s", (int)text.n, text.p);
	struct pattern p, q;

	if (size == 0 || !path.p || pattern_read(&p, text) < 0)
		return 0;
	if (pattern_read(&q, str_of(longer)) == 0 &&
	    pattern_matches(&p, path) != pattern_matches(&q, path))
		abort();
	return 0;
}
