/* Gives untar() any bytes as an archive, and checks the records (wire/file.h) that untar() writes:
 * they must be well formed, all names except that of the top directory must be single components,
 * and each DIR or FILE must have its END. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "tree/untar.h"
#include "wire/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *p;
	size_t n;
};

static long read_input(void *arg, void *p, size_t n)
{
	struct input *in = arg;

	if (n > in->n)
		n = in->n;
	memcpy(p, in->p, n);
	in->p += n;
	in->n -= n;
	return (long)n;
}

static int check(void *arg, const void *p, size_t n, struct err *e)
{
	struct str in = { p, n };
	static struct file_record r;
	int *depth = arg;
	int got;

	while ((got = file_record_next(&in, &r)) > 0) {
		if (r.type == FILE_DIR || r.type == FILE_FILE)
			++*depth;
		if (r.type == FILE_END && --*depth < 0)
			abort();
		if ((r.type == FILE_DIR && *depth > 1 && !file_name_valid(r.name)) ||
		    ((r.type == FILE_FILE || r.type == FILE_LINK) && !file_name_valid(r.name)))
			abort();
	}
	if (got < 0 || in.n)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	const struct untar_source from = { .read = read_input, .arg = &in };
	int depth = 0;
	const struct tree_sink to = { .write = check, .arg = &depth };
	struct err e = { 0 };

	if (untar(&from, &to, &e) == 0 && depth != 0)
		abort();
	return 0;
}
