#include "image/manifest.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image_manifest v;
	const struct image_descriptor *d;
	struct err e;

	if (manifest_parse((const char *)data, size, &v, &e) < 0)
		return 0;
	/* any result is right; only crashes matter */
	IGNORE(manifest_select(&v, IMAGE_OS, IMAGE_ARCHITECTURE, &d, &e));
	manifest_done(&v);
	return 0;
}
