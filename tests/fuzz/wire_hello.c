/* The input is the start of a connection, or a datagram. If the result for the first half of the
 * input is final and not bad, the whole input must have the same result. Read as a datagram, the
 * input must have a final result. */
#include "wire/hello.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(const struct hello *early, size_t early_n, const struct hello *whole)
{
	if (early->kind == HELLO_MORE) {
		if (early->n <= early_n)
			abort(); /* the caller would ask for more bytes for ever */
		return;
	}
	if (early->kind != HELLO_BAD && early->kind != whole->kind)
		abort();
	if ((early->kind == HELLO_TLS || early->kind == HELLO_HTTP) &&
	    (strcmp(early->name, whole->name) != 0 || early->n != whole->n || early->n > early_n))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hello whole, early;

	hello_read_http(data, size, &whole);
	hello_read_http(data, size / 2, &early);
	compare(&early, size / 2, &whole);
	hello_read_tls(data, size, &whole);
	hello_read_tls(data, size / 2, &early);
	compare(&early, size / 2, &whole);
	hello_read_datagram(data, size, &whole);
	if (whole.kind == HELLO_MORE)
		abort();
	return 0;
}
