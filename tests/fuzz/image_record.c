#include "image/store.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image_record v;
	struct err e;

	if (image_record_read_json((const char *)data, size, &v, &e) < 0)
		return 0;
	image_record_done(&v);
	return 0;
}
