/* Base64 (RFC 4648, padded): how records carry bytes that are not text. */
#pragma once

#include "base/buf.h"

void base64_encode(struct buf *out, const void *p, size_t n);
/* 0, -EINVAL, or -ENOSPC when OUT's ceiling is too low (it has failed then); OUT is unchanged by
 * bad text. Strict: padding required, no white space, no stray bits. */
MUST_USE int base64_decode(struct buf *out, const char *p, size_t n);
