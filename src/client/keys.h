/* The detach keys, looked for in what is typed, across reads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct keys {
	const unsigned char *key; /* borrowed */
	size_t n;                 /* 0: there are none */
	size_t matched;           /* so many were typed and are held back */
};

/* Adds to OUT what turned out not to be the detach keys; true when they are complete. What follows them is
 * dropped. */
bool keys_scan(struct keys *k, const char *p, size_t n, struct buf *out);
/* The input ended: the keys that were held back are input like any other. */
void keys_flush(struct keys *k, struct buf *out);
