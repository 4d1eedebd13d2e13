#include <stdlib.h>

#include "host/subid.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct subid_range r;

	if (subid_pick((struct str){ (const char *)data, size }, "user", 1000, 100, &r) == 0 &&
	    (r.count < 100 || r.start + r.count < r.start))
		abort();
	return 0;
}
