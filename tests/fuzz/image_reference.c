#include "image/reference.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The key of a reference is itself a reference, and means the same image. */
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
		return 0; /* with the default registry the text is too long */
	if (reference_parse(key, &r, &e) < 0)
		abort();
	reference_key(&r, again);
	assert(strcmp(key, again) == 0);
	return 0;
}
