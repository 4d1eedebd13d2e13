#include "image/reference.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Parses any text as a reference. The key of the reference must be a reference, too, and mean the
 * same image. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE char *s = xstrndup((const char *)data, size);
	char key[REFERENCE_KEY_BYTES], again[REFERENCE_KEY_BYTES];
	struct reference r;
	struct err e;

	if (reference_parse(s, &r, &e) < 0)
		return 0;
	reference_key(&r, key);
	if (strlen(r.registry) + strlen(r.repository) >= REFERENCE_NAME_MAX_BYTES)
		return 0; /* the key also names the default registry, which makes it too long */
	if (reference_parse(key, &r, &e) < 0)
		abort();
	reference_key(&r, again);
	assert(strcmp(key, again) == 0);
	return 0;
}
