/*
 * Which images sandboxes are made of: sandboxes/NAME/config.json names the manifest's digest. One
 * that cannot be read belongs to a sandbox that cannot be started either, and is passed over.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "image/digest.h"

struct usage_line {
	char *sandbox;
	char digest[DIGEST_BYTES];
};

struct usage {
	struct usage_line *line;
	size_t n;
};

MUST_USE int usage_read(int home_fd, struct usage *ret, struct err *e);
void usage_done(struct usage *u);
/* Appends the names of the sandboxes that use it, divided by ", ". False when none does. */
bool usage_of(const struct usage *u, const char *manifest_digest, struct buf *names);
