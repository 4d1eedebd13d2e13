/* Reads any bytes as a report, in two pieces. The pool is the memory that pid 1 has for all
 * commands; a report takes its bytes from the pool. The pool must never exceed POOL_BYTES. At the
 * end a whole report must still count in the pool, and a partial report must not. */
#include "guest/report.h"

#include <stdint.h>
#include <stdlib.h>

#include "wire/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pool pool = { .used = POOL_BYTES - (1u << 20) };
	const size_t before = pool.used;
	size_t cut = size ? data[size - 1] % (size + 1) : 0, n = 0;
	struct report r = { 0 };
	char *whole;

	report_add(&r, &pool, (const char *)data, cut);
	report_add(&r, &pool, (const char *)data + cut, size - cut);
	check(pool.used <= POOL_BYTES && r.n <= r.want && r.want <= REPORT_MAX_BYTES);
	whole = report_take(&r, &n);
	check(!whole == (r.state != REPORT_WHOLE));
	check(!whole || n + REPORT_HEAD_BYTES <= size);
	report_done(&r, &pool);
	check(pool.used == before + n);
	free(whole);
	return 0;
}
