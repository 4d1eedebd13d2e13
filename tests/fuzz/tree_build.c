/* Rewrites any text as the target of a link at any depth below the top of a tree. The rewritten
 * target must not lead above the top. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tree/build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char target[FILE_TARGET_MAX_BYTES + 1];
	AUTO_BUF out = BUF_INIT(8192);
	unsigned depth;
	bool down = false;

	if (size < 1 || size > FILE_TARGET_MAX_BYTES)
		return 0;
	depth = data[0];
	memcpy(target, data + 1, size - 1);
	target[size - 1] = '\0';
	if (!tree_confine_link(target, "/a/b", depth, &out))
		return 0;
	if (out.n == 0 || out.p[0] == '/')
		abort();
	for (const char *p = out.p; *p; p += strspn(p, "/")) {
		size_t n = strcspn(p, "/");

		if (n == 2 && memcmp(p, "..", 2) == 0) {
			if (down || depth-- == 0)
				abort();
		} else {
			down = true;
		}
		p += n;
	}
	return 0;
}
