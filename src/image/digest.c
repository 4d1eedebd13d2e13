#include "image/digest.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

bool digest_hex_valid(const char *s)
{
	return strspn(s, "0123456789abcdef") == DIGEST_HEX_CHARS && s[DIGEST_HEX_CHARS] == '\0';
}

bool digest_valid(const char *s)
{
	return starts_with(s, DIGEST_PREFIX) && digest_hex_valid(digest_hex(s));
}

const char *digest_hex(const char *s)
{
	return s + sizeof(DIGEST_PREFIX) - 1;
}

void digest_from_hex(const char *hex, char out[DIGEST_BYTES])
{
	snprintf(out, DIGEST_BYTES, "%s%s", DIGEST_PREFIX, hex);
}
