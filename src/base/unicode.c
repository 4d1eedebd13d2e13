#include "base/unicode.h"

#include "base/cleanup.h"

#include "base/alnum_table.h"

/* Returns the length of the well-formed character at the start of S, or 0. */
static size_t character(struct str s)
{
	unsigned char c = (unsigned char)s.p[0];
	size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

	return n <= s.n && utf8_valid(s.p, n) ? n : 0;
}

uint32_t unicode_take(struct str *rest)
{
	static const unsigned char first_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	size_t n = character(*rest);
	uint32_t c = UNICODE_REPLACEMENT;

	if (n) {
		c = (unsigned char)rest->p[0] & first_bits[n];
		for (size_t i = 1; i < n; i++)
			c = c << 6 | ((unsigned char)rest->p[i] & 0x3f);
	}
	rest->p += n ? n : 1;
	rest->n -= n ? n : 1;
	return c;
}

size_t unicode_count(struct str s)
{
	size_t n = 0;

	for (; s.n; n++)
		unicode_take(&s);
	return n;
}

bool unicode_is_space(uint32_t c)
{
	return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
	       c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
	       c == 0x202f || c == 0x205f || c == 0x3000;
}

bool unicode_is_alnum(uint32_t c)
{
	size_t low = 0, high = ARRAY_SIZE(alnum);

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (c > alnum[middle].last)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ARRAY_SIZE(alnum) && c >= alnum[low].first;
}

struct str unicode_trim(struct str s)
{
	struct str rest = s;
	const char *end = s.p;
	bool begun = false;

	while (rest.n) {
		const char *at = rest.p;

		if (unicode_is_space(unicode_take(&rest)))
			continue;
		if (!begun)
			s.p = at;
		begun = true;
		end = rest.p;
	}
	s.n = begun ? (size_t)(end - s.p) : 0;
	return s;
}

static bool ends_line(uint32_t c)
{
	return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
	       c == 0x2029;
}

struct str unicode_take_line(struct str *rest)
{
	struct str line = *rest;

	while (rest->n) {
		uint32_t c = unicode_take(rest);

		if (!ends_line(c))
			continue;
		if (c == '\r' && rest->n && rest->p[0] == '\n')
			unicode_take(rest);
		break;
	}
	line.n = (size_t)(rest->p - line.p);
	return line;
}
