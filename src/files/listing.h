/* The names in a directory, sorted, within limits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct listing {
	size_t n;
	char **name;   /* owned */
	size_t total;  /* entries of the directory, counted up to LISTING_SCAN_MAX */
	bool too_many; /* the directory has more entries than the member `name` holds */
};

#define LISTING_NAMES_MAX 10000u
#define LISTING_SCAN_MAX 100000u /* listing_read() stops after this many entries */

/* Reads the directory FD and closes it. Returns 0 or -errno. */
MUST_USE int listing_read(int fd, struct listing *ret);
void listing_done(struct listing *l);
/* Appends the names, one per line, up to MAX_BYTES. Returns false if some did not fit. Line feeds
 * in names, and bytes that are not UTF-8, become U+FFFD. */
bool listing_print(const struct listing *l, size_t max_bytes, struct buf *out);
