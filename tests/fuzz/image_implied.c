#include "image/implied.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads any bytes as a list of implied directories. If the list is accepted, written and read
 * again, it must be the same list. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct image_implied found[IMAGE_IMPLIED_MAX], again[IMAGE_IMPLIED_MAX];
	struct buf text = BUF_INIT(IMAGE_IMPLIED_MAX_BYTES);
	int n = image_implied_read((const char *)data, size, found);

	if (n < 0)
		return 0;
	image_implied_write(found, (size_t)n, &text);
	if (!buf_failed(&text) && image_implied_read(buf_str(&text), text.n, again) != n)
		abort();
	for (int i = 0; i < n; i++)
		if (strcmp(found[i].path, again[i].path) != 0 || found[i].mode != again[i].mode ||
		    found[i].uid != again[i].uid || found[i].gid != again[i].gid)
			abort();
	buf_done(&text);
	return 0;
}
