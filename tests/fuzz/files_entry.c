/* Reads any bytes as a line about a file. If a line is accepted, its path must be relative, without
 * `..` and without a NUL. */
#include "files/entry.h"

#include <stdlib.h>

#include "base/buf.h"
#include "files/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUF below = BUF_INIT(PATH_MAX_BYTES);
	struct entry x;

	if (entry_read((struct str){ (const char *)data, size }, &x) < 0)
		return 0;
	/* normalising the path must not change it */
	if (path_from_top("/top", x.path, &below) < 0 || below.n != x.path.n ||
	    memcmp(below.p, x.path.p, below.n) != 0 || memchr(x.path.p, 0, x.path.n))
		abort();
	return 0;
}
