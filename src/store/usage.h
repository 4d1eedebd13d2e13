/*
 * Finds out which sandbox uses which image. The file sandboxes/NAME/config.json has the digest of
 * the image's manifest. A sandbox is skipped if its config.json is missing or is not valid JSON,
 * because such a sandbox cannot be started anyway. usage_read() fails if a newer cordon wrote
 * config.json, or if config.json cannot be read for another reason.
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
/* Appends the names of the sandboxes that use the image, separated by ", ". Returns false if no
 * sandbox uses it. */
bool usage_of(const struct usage *u, const char *manifest_digest, struct buf *names);
