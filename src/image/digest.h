/*
 * Digests as registries write them: "sha256:" and 64 lower-case hex digits.
 *
 * Other algorithms are refused: no known registry uses another algorithm, and a store that uses one
 * algorithm cannot hold the same content under two names.
 */
#pragma once

#include <stdbool.h>

#define DIGEST_PREFIX "sha256:"
#define DIGEST_HEX_CHARS 64
/* the prefix, the digits and a terminator */
#define DIGEST_BYTES (sizeof(DIGEST_PREFIX) + DIGEST_HEX_CHARS)

bool digest_valid(const char *s);
/* Returns the digits alone, as the store names its files. S must be valid. */
const char *digest_hex(const char *s);
/* Returns true for 64 lower-case hex digits and nothing else: a file name of the store. */
bool digest_hex_valid(const char *s);
void digest_from_hex(const char *hex, char out[DIGEST_BYTES]);
