/* Decodes any bytes as a request and as a stream of records. Decoded names must be single
 * components (or empty, except for links), paths must be absolute, and targets of links must not be
 * empty. */
#include <stdint.h>
#include <stdlib.h>

#include "wire/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str in = { (const char *)data, size };
	static struct file_record r;
	struct file_message m;

	if (file_decode(in, &m) == 0 && m.path[0] != '/')
		abort();
	while (file_record_next(&in, &r) == 1) {
		bool named = r.type == FILE_DIR || r.type == FILE_FILE || r.type == FILE_LINK;

		if (named && !file_name_valid(r.name) && (r.name[0] || r.type == FILE_LINK))
			abort();
		if (r.type == FILE_LINK && !r.target[0])
			abort();
	}
	return 0;
}
