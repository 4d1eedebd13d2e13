/* Looks for the detach keys in what the user types. One read from the terminal may end in the
 * middle of the detach keys. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct keys {
	const unsigned char *key; /* borrowed */
	size_t n;                 /* 0: there are no detach keys */
	size_t matched; /* how many of the detach keys were typed already; they are held back */
};

/* Adds to OUT everything that is not part of the detach keys. Returns true when all detach keys
 * were typed. The bytes after the detach keys are dropped. */
bool keys_scan(struct keys *k, const char *p, size_t n, struct buf *out);
/* Call this at the end of the input. Adds the keys that were held back to OUT, because they
 * turned out to be ordinary input. */
void keys_flush(struct keys *k, struct buf *out);
