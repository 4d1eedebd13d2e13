/* Looks for the detach keys in what is typed, also across reads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct keys {
	const unsigned char *key; /* borrowed */
	size_t n;                 /* 0: there are no detach keys */
	size_t matched;           /* how many of the keys were typed and are held back */
};

/* Adds to OUT everything that is not part of the detach keys. Returns true when the keys are complete; later bytes
 * are dropped. */
bool keys_scan(struct keys *k, const char *p, size_t n, struct buf *out);
/* Call this at the end of the input. Adds the keys that were held back, because they are ordinary input. */
void keys_flush(struct keys *k, struct buf *out);
