/* Base64 (RFC 4648, padded). Records use it for bytes that are not text. */
#pragma once

#include "base/buf.h"

void base64_encode(struct buf *out, const void *p, size_t n);
/* Returns 0, -EINVAL for bad text (OUT is unchanged then), or -ENOSPC when OUT's ceiling is too low
 * (OUT has failed then). Strict: padding is required; white space and stray bits are refused. */
MUST_USE int base64_decode(struct buf *out, const char *p, size_t n);
