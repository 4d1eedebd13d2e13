/* Reads any bytes as a spec. An accepted spec is written, read and written again. Both texts must
 * be the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spec/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_out(const struct spec *s, struct buf *b)
{
	struct json_writer w;

	json_writer_init(&w, b, 0);
	spec_write_json(s, &w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_JSON d = NULL;
	AUTO_JSON again = NULL;
	AUTO_BUF one = BUF_INIT(JSON_TEXT_MAX);
	AUTO_BUF two = BUF_INIT(JSON_TEXT_MAX);
	struct spec s;
	struct err e;

	if (json_parse((const char *)data, size, &d, &e) < 0 ||
	    spec_read_json(json_root(d), &s, &e) < 0)
		return 0;
	write_out(&s, &one);
	spec_done(&s);
	if (json_parse(buf_str(&one), one.n, &again, &e) < 0 ||
	    spec_read_json(json_root(again), &s, &e) < 0)
		abort();
	write_out(&s, &two);
	spec_done(&s);
	if (strcmp(buf_str(&one), buf_str(&two)) != 0)
		abort();
	return 0;
}
