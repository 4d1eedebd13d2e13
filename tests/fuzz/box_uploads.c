/* Reads each line as the JSON text of one chunk of an uploaded file. The target checks that the
 * ceiling (the counter of the memory that peers use) counts exactly the bytes in the files, and
 * that no file is longer than FILE_MAX_BYTES. */
#include "box/uploads.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FILE_MAX_BYTES 4096u

static void take(struct uploads *u, const struct json_value *v)
{
	struct skills_file got = { .fd = -1 };
	AUTO_FAULT f = { 0 };
	struct stat st;

	if (uploads_take(u, v, &got, &f) < 0) {
		if (f.class == FAULT_NONE || !utf8_valid(f.text, f.n))
			abort();
		return;
	}
	if (got.bytes > FILE_MAX_BYTES || fstat(got.fd, &st) < 0 || (size_t)st.st_size != got.bytes)
		abort();
	ceiling_give(u->ceiling, got.bytes);
	close(got.fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ceiling top = { .max = 4 * FILE_MAX_BYTES };
	struct str rest = { (const char *)data, size };
	struct uploads u;

	uploads_init(&u, &top, FILE_MAX_BYTES);
	while (rest.p) {
		struct str line = str_cut(&rest, '\n');
		AUTO_JSON d = NULL;
		AUTO_FAULT f = { 0 };
		struct err e = { 0 };

		if (json_parse_lenient(line.p, line.n, &d, &e) < 0 ||
		    json_root(d)->type != JSON_OBJECT)
			continue;
		if (json_get(json_root(d), "take"))
			take(&u, json_root(d));
		else if (uploads_add(&u, json_root(d), &f) < 0 && f.class == FAULT_NONE)
			abort();
		if (u.n > UPLOAD_KEYS_MAX || top.used > top.max)
			abort();
	}
	uploads_done(&u);
	if (top.used != 0)
		abort();
	return 0;
}
