#include "base/base64.h"

#include <errno.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct buf *out, const void *p, size_t n)
{
	const unsigned char *s = p;
	size_t size = n / 3 * 4 + (n % 3 ? 4 : 0);
	/* do not call buf_room() for 0 bytes: it may leave OUT without a NUL */
	char *to = n ? buf_room(out, size) : NULL;

	if (!to)
		return;
	for (; n > 0; to += 4) {
		unsigned v = (unsigned)s[0] << 16 | (n > 1 ? (unsigned)s[1] << 8 : 0) |
			     (n > 2 ? s[2] : 0u);

		to[0] = alphabet[v >> 18];
		to[1] = alphabet[v >> 12 & 63];
		to[2] = n > 1 ? alphabet[v >> 6 & 63] : '=';
		to[3] = n > 2 ? alphabet[v & 63] : '=';
		s += n > 3 ? 3 : n;
		n -= n > 3 ? 3 : n;
	}
	out->n += size;
	out->p[out->n] = '\0';
}

/* Returns the six bits that the character C encodes, or -1 if C is not in the alphabet. */
static int sextet(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes four characters into up to three bytes at TO. Returns how many bytes it decoded, or -1 if
 * the characters are malformed. */
static int quartet(const char *p, bool last, unsigned char *to)
{
	int pad = last && p[3] == '=' ? (p[2] == '=' ? 2 : 1) : 0;
	unsigned v = 0;

	for (int i = 0; i < 4 - pad; i++) {
		int six = sextet(p[i]);

		if (six < 0)
			return -1;
		v |= (unsigned)six << (18 - 6 * i);
	}
	/* refuse bits behind the last whole byte: otherwise two texts would decode to the same
	 * bytes */
	if (v & ((1u << 8 * pad) - 1))
		return -1;
	for (int i = 0; i < 3 - pad; i++)
		to[i] = (unsigned char)(v >> (16 - 8 * i));
	return 3 - pad;
}

int base64_decode(struct buf *out, const char *p, size_t n)
{
	size_t used = 0;
	unsigned char *to;

	if (n % 4)
		return -EINVAL;
	if (n == 0)
		return 0;
	/* the padding is not checked yet; here it only serves to estimate how much room is
	 * needed */
	to = buf_room(out, n / 4 * 3 - (p[n - 1] == '=') - (p[n - 2] == '='));
	if (!to)
		return -ENOSPC;
	for (size_t i = 0; i < n; i += 4) {
		unsigned char three[3];
		int k = quartet(p + i, i + 4 == n, three);

		if (k < 0) {
			out->p[out->n] = '\0';
			return -EINVAL;
		}
		memcpy(to + used, three, (size_t)k);
		used += (size_t)k;
	}
	out->n += used;
	out->p[out->n] = '\0';
	return 0;
}
