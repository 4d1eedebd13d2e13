/* SHA-1, because the WebSocket handshake (RFC 6455) requires it. SHA-1 is not secure: use sha256
 * for everything else. */
#pragma once

#include <stddef.h>

#define SHA1_BYTES 20
#define SHA1_INPUT_MAX_BYTES 512 /* the text of a handshake has 60 bytes */

/* Writes the sum of the N bytes at P to OUT. N is at most SHA1_INPUT_MAX_BYTES. */
void sha1(const void *p, size_t n, unsigned char out[SHA1_BYTES]);
