#include "base/sha1.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#define BLOCK_BYTES 64

static uint32_t rotate(uint32_t v, unsigned n)
{
	return v << n | v >> (32 - n);
}

/* Returns the sum of the function and the constant of round T (FIPS 180-4, 4.1.1 and 4.2.1). */
static uint32_t mix(unsigned t, uint32_t b, uint32_t c, uint32_t d)
{
	if (t < 20)
		return ((b & c) | (~b & d)) + 0x5a827999;
	if (t < 40)
		return (b ^ c ^ d) + 0x6ed9eba1;
	if (t < 60)
		return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
	return (b ^ c ^ d) + 0xca62c1d6;
}

static void add_block(uint32_t state[5], const unsigned char *p)
{
	uint32_t w[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];

	for (unsigned i = 0; i < 16; i++, p += 4)
		w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	for (unsigned i = 16; i < 80; i++)
		w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	for (unsigned t = 0; t < 80; t++) {
		uint32_t next = rotate(a, 5) + mix(t, b, c, d) + e + w[t];

		e = d;
		d = c;
		c = rotate(b, 30);
		b = a;
		a = next;
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
}

void sha1(const void *p, size_t n, unsigned char out[SHA1_BYTES])
{
	uint32_t state[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
	/* TEXT is the input, then a 1 bit and zeros, and the length of the input in the last eight
	 * bytes of the last block */
	unsigned char text[SHA1_INPUT_MAX_BYTES + 9 + BLOCK_BYTES] = { 0 };
	size_t whole = (n + 9 + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;

	assert(n <= SHA1_INPUT_MAX_BYTES);
	if (n)
		memcpy(text, p, n);
	text[n] = 0x80;
	for (unsigned i = 0; i < 8; i++)
		text[whole - 1 - i] = (unsigned char)((uint64_t)n * 8 >> (8 * i));
	for (size_t at = 0; at < whole; at += BLOCK_BYTES)
		add_block(state, text + at);
	for (unsigned i = 0; i < SHA1_BYTES; i++)
		out[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
}
