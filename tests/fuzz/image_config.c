#include "image/config.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image_config v;
	struct err e;

	if (image_config_parse((const char *)data, size, &v, &e) < 0)
		return 0;
	image_config_done(&v);
	return 0;
}
