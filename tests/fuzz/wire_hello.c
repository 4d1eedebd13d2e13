/* First bytes of a connection: what a prefix already says for certain, the whole must not take back. */
#include "wire/hello.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[HELLO_NAME_BYTES], first[HELLO_NAME_BYTES];
	enum hello_kind kind, early;

	kind = hello_parse(data, size, name);
	early = hello_parse(data, size / 2, first);
	if (early != HELLO_MORE && early != HELLO_BAD && early != kind)
		abort();
	if ((early == HELLO_TLS || early == HELLO_HTTP) && strcmp(name, first) != 0)
		abort();
	return 0;
}
