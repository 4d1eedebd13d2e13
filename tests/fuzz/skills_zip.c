/* Reads any bytes as a zip archive. All entries of an accepted archive must have safe and different
 * paths, and contents of the declared size. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "skills/zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count(void *arg, const void *p, size_t n)
{
	*(uint64_t *)arg += n;
	return 0;
}

static void check(const struct zip *z, const struct zip_entry *e)
{
	AUTO_WHY y = WHY_INIT;
	uint64_t n = 0;

	if (e->path[0] == '/' || e->path[0] == '\0' || strstr(e->path, "//") ||
	    strcmp(e->path, "..") == 0 || strncmp(e->path, "../", 3) == 0 ||
	    strstr(e->path, "/../") || strlen(e->path) > ZIP_PATH_MAX_BYTES)
		abort();
	for (size_t i = 0; i < z->n; i++)
		if (&z->entry[i] != e && strcmp(z->entry[i].path, e->path) == 0)
			abort();
	if (zip_inflate(e, count, &n, &y) == 0 && n != (e->is_dir ? 0 : e->size))
		abort();
	if (n > e->size || n > ZIP_ENTRY_MAX_BYTES)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_WHY y = WHY_INIT;
	AUTO_ZIP z = { 0 };

	if (zip_open((struct str){ (const char *)data, size }, &z, &y) < 0)
		return 0;
	if (z.n > ZIP_ENTRIES_MAX)
		abort();
	for (size_t i = 0; i < z.n; i++)
		check(&z, &z.entry[i]);
	return 0;
}
