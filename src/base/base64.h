/* Base64 (RFC 4648, padded). Records use it for bytes that are not text. */
#pragma once

#include "base/buf.h"

void base64_encode(struct buf *out, const void *p, size_t n);
/* Decodes N bytes. Requires padding, and refuses white space. The last character before the padding
 * has two or four bits more than the last byte needs; refuses the text if these bits are not 0.
 * Returns 0, -EINVAL for bad text (OUT is then unchanged), or -ENOSPC if OUT's ceiling is too low
 * (OUT has then failed). */
MUST_USE int base64_decode(struct buf *out, const char *p, size_t n);
