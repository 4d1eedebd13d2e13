/* SHA-256, for names and cache keys in programs that link no library. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32
#define SHA256_HEX_BYTES 65 /* the hex digits and a terminator */

struct sha256 {
	uint32_t state[8];
	uint64_t n;
	unsigned char block[64];
};

void sha256_init(struct sha256 *h);
void sha256_add(struct sha256 *h, const void *p, size_t n);
void sha256_end(struct sha256 *h, unsigned char out[SHA256_BYTES]);
void sha256_hex(const void *p, size_t n, char out[SHA256_HEX_BYTES]);
