/*
 * The public suffix list, as sorted 64-bit hashes of its names.
 *
 * We use the list only to refuse a wildcard rule, so a table of hashes (76 KiB) is enough: it can
 * be searched, although its names cannot be listed. The generator makes sure that no two names
 * share a hash. This file is an object of its own, so that programs that only match rules (the
 * gateway) do not link the table.
 */
#include "policy/name.h"

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"

#include "policy/suffix_table.h"

/* Computes the FNV-1a hash of S, as tools/gen-psl.py does. */
static uint64_t name_hash(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
	return h;
}

static bool table_has(const uint64_t *table, size_t n, const char *name)
{
	uint64_t want = name_hash(name);
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (table[mid] == want)
			return true;
		if (table[mid] < want)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

bool name_is_public_suffix(const char *name)
{
	const char *parent = strchr(name, '.');

	if (!parent)
		return true;
	if (table_has(suffix_except, ARRAY_SIZE(suffix_except), name))
		return false;
	return table_has(suffix_plain, ARRAY_SIZE(suffix_plain), name) ||
	       table_has(suffix_parent, ARRAY_SIZE(suffix_parent), parent + 1);
}
