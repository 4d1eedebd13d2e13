/*
 * Digests as registries write them: "sha256:" and 64 lower-case hex digits.
 *
 * Other algorithms are refused. No known registry uses another algorithm. With a single algorithm,
 * the store cannot hold the same content under two names.
 */
#pragma once

#include <stdbool.h>

#define DIGEST_PREFIX "sha256:"
#define DIGEST_HEX_CHARS 64
/* the prefix, the digits and a terminator */
#define DIGEST_BYTES (sizeof(DIGEST_PREFIX) + DIGEST_HEX_CHARS)

bool digest_valid(const char *s);
/* Returns only the hex digits; the store uses them as file names. S must be valid. */
const char *digest_hex(const char *s);
/* Returns true if S is exactly 64 lower-case hex digits, as in file names of the store. */
bool digest_hex_valid(const char *s);
void digest_from_hex(const char *hex, char out[DIGEST_BYTES]);
