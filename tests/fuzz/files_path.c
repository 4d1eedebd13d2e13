/* Reads any bytes as a path of a model. The result must have no empty, `.` or `..` component and
 * must not begin with a slash. */
#include "files/path.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUF below = BUF_INIT(PATH_MAX_BYTES);
	struct str rest;

	if (path_from_top("/workspace", (struct str){ (const char *)data, size }, &below) < 0)
		return 0;
	rest = (struct str){ buf_str(&below), below.n };
	while (rest.n && rest.p) {
		struct str name = str_cut(&rest, '/');

		if (name.n == 0 || str_eq(name, ".") || str_eq(name, ".."))
			abort();
	}
	return 0;
}
