#include "registry/challenge.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE char *s = xstrndup((const char *)data, size);
	struct challenge c;

	/* any result is right; only crashes and reads out of bounds matter */
	IGNORE(challenge_parse(s, &c));
	return 0;
}
