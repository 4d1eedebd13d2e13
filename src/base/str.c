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

bool path_is_within(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/' || n == 1);
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

/* Returns false if these two bytes begin an over-long form, a surrogate or a value beyond
 * U+10FFFF. */
static bool second_byte_fits(unsigned char first, unsigned char second)
{
	unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
	unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;

	return second >= low && second <= high;
}

/* Returns true if C can begin a character of several bytes. */
static bool is_lead(unsigned char c)
{
	return c >= 0xc2 && c <= 0xf4;
}

int utf8_step(const char *p, size_t n)
{
	const unsigned char *s = (const unsigned char *)p;
	int length = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (s[0] < 0x80)
		return 1;
	if (!is_lead(s[0]))
		return -1;
	for (int k = 1; k < length; k++)
		if ((size_t)k == n || (s[k] & 0xc0) != 0x80 ||
		    (k == 1 && !second_byte_fits(s[0], s[1])))
			return -k;
	return length;
}

/* Returns how many ASCII characters the N bytes begin with, rounded down to a multiple of eight. */
static size_t ascii_words(const char *p, size_t n)
{
	size_t i = 0;
	uint64_t word;

	for (; n - i >= sizeof(word); i += sizeof(word)) {
		memcpy(&word, p + i, sizeof(word));
		if (word & 0x8080808080808080ull)
			break;
	}
	return i;
}

size_t utf8_prefix(const char *p, size_t n, bool *ret_bad)
{
	size_t i = 0;

	*ret_bad = false;
	if (n == 0)
		return 0; /* P may be NULL if N is 0 */
	while ((i += ascii_words(p + i, n - i)) < n) {
		int k = utf8_step(p + i, n - i);

		if (k < 0) {
			*ret_bad = (size_t)-k < n - i || !is_lead((unsigned char)p[i]);
			break;
		}
		i += (size_t)k;
	}
	return i;
}

bool utf8_valid(const char *p, size_t n)
{
	bool bad;

	return utf8_prefix(p, n, &bad) == n;
}

/* Returns true if C is a byte of a code point, but not the first byte. */
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

const char *path_leaf(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

unsigned str_distance(const char *a, const char *b, unsigned cap)
{
	/* all words that we suggest are shorter; a longer word of a user counts as too far away */
	enum { WORD_MAX = 32 };
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
