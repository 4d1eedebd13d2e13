/* Reads any JSON as the parameters of a tool. Accepted parameters must lie within their bounds. */
#include "tool/parameters.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_JSON doc = NULL;
	AUTO_FAULT f = { 0 };
	struct parameters p;
	struct err e;
	struct str name;
	int64_t n;

	if (json_parse_lenient((const char *)data, size, &doc, &e) < 0)
		return 0;
	parameters_init(&p, json_root(doc), &f);
	name = parameters_name(&p, "path", NULL);
	n = parameters_int(&p, "limit", 5, 1, 10);
	parameters_second(&p, "mode", "a", "b");
	if (n < 1 || n > 10)
		abort();
	if (parameters_end(&p) == 0 ? memchr(name.p, 0, name.n) != NULL : f.text == NULL)
		abort();
	return 0;
}
