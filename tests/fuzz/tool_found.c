/* Reads any bytes as the answer of cordon-search. An accepted answer must become a tool result in
 * JSON with at most 200 matches, all below /workspace. */
#include "tool/found.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUF out = BUF_INIT(16u << 20);
	AUTO_JSON doc = NULL;
	const struct json_value *matches;
	struct json_writer w;
	struct err e;

	json_writer_init(&w, &out, 0);
	if (found_write((struct str){ (const char *)data, size }, "/workspace", false, &w) < 0)
		return 0;
	if (json_parse(buf_str(&out), out.n, &doc, &e) < 0)
		abort();
	matches = json_get(json_root(doc), "matches");
	if (!matches || matches->array.n > 200)
		abort();
	for (size_t i = 0; i < matches->array.n; i++)
		if (strncmp(json_get_str(&matches->array.item[i], "file", ""), "/workspace", 10) !=
		    0)
			abort();
	return 0;
}
