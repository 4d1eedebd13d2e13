#include "base/str.h"

#include <errno.h>

struct str str_cut(struct str *rest, char sep)
{
	const char *at = memchr(rest->p, sep, rest->n);
	struct str head = *rest;

	if (!at) {
		*rest = (struct str){ NULL, 0 };
		return head;
	}
	head.n = (size_t)(at - rest->p);
	rest->p = at + 1;
	rest->n -= head.n + 1;
	return head;
}

int parse_u64_str(struct str s, uint64_t min, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;

	if (s.n == 0)
		return -EINVAL;
	for (size_t i = 0; i < s.n; i++) {
		unsigned d = (unsigned)(unsigned char)s.p[i] - '0';

		if (d > 9)
			return -EINVAL;
		if (v > (UINT64_MAX - d) / 10)
			return -ERANGE;
		v = v * 10 + d;
	}
	if (v < min || v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

int parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret)
{
	return parse_u64_str(str_of(s), min, max, ret);
}

bool utf8_valid(const char *p, size_t n)
{
	const unsigned char *s = (const unsigned char *)p;

	for (size_t i = 0; i < n;) {
		unsigned char c = s[i];
		size_t more = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;

		/* no code point starts with a continuation byte (below 0xc0), an over-long form of
		 * two bytes (0xc0, 0xc1), or a byte above 0xf4 */
		if ((c >= 0x80 && c < 0xc2) || c > 0xf4 || more > n - i - 1)
			return false;
		for (size_t k = 1; k <= more; k++)
			if ((s[i + k] & 0xc0) != 0x80)
				return false;
		/* the second byte tells over-long forms, surrogates and values beyond U+10FFFF */
		if ((c == 0xe0 && s[i + 1] < 0xa0) || (c == 0xed && s[i + 1] > 0x9f) ||
		    (c == 0xf0 && s[i + 1] < 0x90) || (c == 0xf4 && s[i + 1] > 0x8f))
			return false;
		i += more + 1;
	}
	return true;
}

/* A byte inside a code point, but not its first. */
static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

const char *utf8_skip(const char *s, size_t n)
{
	for (; n > 0 && *s; n--)
		do
			s++;
		while (is_continuation(*s));
	return s;
}

size_t utf8_width(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += !is_continuation(*s);
	return n;
}

unsigned str_distance(const char *a, const char *b, unsigned cap)
{
	enum { WORD_MAX = 32 }; /* option and rule words are short; a longer word counts as "far" */
	unsigned row[3][WORD_MAX + 1];
	size_t na = strlen(a), nb = strlen(b);

	if (na > WORD_MAX || nb > WORD_MAX)
		return cap + 1;
	for (size_t j = 0; j <= nb; j++)
		row[0][j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned *now = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			unsigned best = up[j - 1] + (a[i - 1] != b[j - 1]);

			if (up[j] + 1 < best)
				best = up[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    up2[j - 2] + 1 < best)
				best = up2[j - 2] + 1;
			now[j] = best;
		}
	}
	return row[na % 3][nb] > cap ? cap + 1 : row[na % 3][nb];
}
