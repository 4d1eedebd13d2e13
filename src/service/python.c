#include "service/python.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct letter_range {
	uint32_t first, last;
};
#include "service/letters.h" /* made by tools/gen-letters.py */

/* --- characters ------------------------------------------------------------------------------- */

bool python_is_space(uint32_t c)
{
	return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
	       c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
	       c == 0x202f || c == 0x205f || c == 0x3000;
}

bool python_is_alnum(uint32_t c)
{
	size_t low = 0, high = ARRAY_SIZE(letters);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (letters[middle].last < c)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ARRAY_SIZE(letters) && letters[low].first <= c;
}

/* Removes the first character from S and returns its code point. S must not be empty. A byte that
 * is not UTF-8 counts as a character. */
static uint32_t next_character(struct str *s)
{
	const unsigned char *p = (const unsigned char *)s->p;
	int k = utf8_step(s->p, s->n);
	uint32_t c = p[0];

	if (k > 1)
		c &= 0x7fu >> k;
	for (int i = 1; i < k; i++)
		c = c << 6 | (p[i] & 0x3f);
	k = k < 1 ? 1 : k;
	s->p += k;
	s->n -= (size_t)k;
	return c;
}

/* Removes the last character from S and returns its code point. S must not be empty. */
static uint32_t last_character(struct str *s)
{
	size_t k = 1;
	struct str last;

	while (k < 4 && k < s->n && ((unsigned char)s->p[s->n - k] & 0xc0) == 0x80)
		k++;
	last = (struct str){ s->p + s->n - k, k };
	s->n -= k;
	return next_character(&last);
}

struct str python_trim_end(struct str s)
{
	for (struct str rest = s; s.n; s = rest)
		if (!python_is_space(last_character(&rest)))
			break;
	return s;
}

struct str python_trim(struct str s)
{
	for (struct str rest = s; s.n; s = rest)
		if (!python_is_space(next_character(&rest)))
			break;
	return python_trim_end(s);
}

bool python_has_space(struct str s)
{
	while (s.n)
		if (python_is_space(next_character(&s)))
			return true;
	return false;
}

size_t python_length(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
	return n;
}

struct str python_first(struct str s, size_t n)
{
	struct str rest = s;

	while (rest.n && n--)
		next_character(&rest);
	return (struct str){ s.p, s.n - rest.n };
}

bool python_is_name(struct str s)
{
	while (s.n) {
		uint32_t c = next_character(&s);

		if (c != '-' && c != '_' && !python_is_alnum(c))
			return false;
	}
	return true;
}

/* --- numbers ---------------------------------------------------------------------------------- */

#define NUMBER_TEXT_MAX_BYTES 512u /* longer texts are refused */

/* A number in a text: [sign] whole [. fraction] [e exponent]. Digits may have single underscores
 * between them. */
struct number_text {
	struct str rest; /* what is not read yet */
	/* the digits after the point as they stand in the text, with underscores */
	struct str fraction;
	bool has_exponent;
	size_t whole; /* the number of digits in front of the point */
	size_t n;
	/* the part that was read, without underscores and `+` */
	char digits[NUMBER_TEXT_MAX_BYTES + 1];
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* If the character C comes next, skips it and returns true. */
static bool skip(struct number_text *t, char c)
{
	if (t->rest.n == 0 || t->rest.p[0] != c)
		return false;
	t->rest.p++;
	t->rest.n--;
	return true;
}

/* If the character C comes next, appends it to the digits and returns true. */
static bool take(struct number_text *t, char c)
{
	if (!skip(t, c))
		return false;
	t->digits[t->n++] = c; /* the whole text is short enough for DIGITS */
	t->digits[t->n] = '\0';
	return true;
}

static void take_sign(struct number_text *t)
{
	if (!take(t, '-'))
		skip(t, '+');
}

/* Reads digits with single underscores between them. Returns the number of digits. */
static size_t take_digits(struct number_text *t)
{
	size_t n = 0;

	while (t->rest.n && is_digit(t->rest.p[0])) {
		take(t, t->rest.p[0]);
		n++;
		if (t->rest.n > 1 && t->rest.p[0] == '_' && is_digit(t->rest.p[1]))
			skip(t, '_');
	}
	return n;
}

/* Accepts "1.0", " 2 ", "+1e2", "1_000" and ".5", but not "0x10" and "nan". */
static bool number_read(struct number_text *t, struct str s)
{
	size_t n;

	*t = (struct number_text){ .rest = python_trim(s) };
	if (t->rest.n > NUMBER_TEXT_MAX_BYTES)
		return false;
	take_sign(t);
	t->whole = n = take_digits(t);
	if (take(t, '.')) {
		t->fraction.p = t->rest.p;
		n += take_digits(t);
		t->fraction.n = (size_t)(t->rest.p - t->fraction.p);
	}
	if (n == 0)
		return false;
	if (take(t, 'e') || take(t, 'E')) {
		t->has_exponent = true;
		take_sign(t);
		if (take_digits(t) == 0)
			return false;
	}
	return t->rest.n == 0;
}

/* Accepts "45", " 7 ", "+3", "1_000" and "2.0", but not "2.5" and "1e3". */
static int text_to_int(struct str s, int64_t *ret)
{
	struct number_text t;
	bool negative;
	uint64_t v;

	if (!number_read(&t, s) || t.whole == 0 || t.has_exponent)
		return -EINVAL;
	for (size_t i = 0; i < t.fraction.n; i++)
		if (t.fraction.p[i] != '0')
			return -EINVAL;
	negative = t.digits[0] == '-';
	t.digits[negative + t.whole] = '\0';
	if (parse_u64(t.digits + negative, 0, (uint64_t)INT64_MAX + negative, &v) < 0)
		return -EINVAL;
	*ret = negative ? (int64_t)-v : (int64_t)v;
	return 0;
}

static int text_to_float(struct str s, double *ret)
{
	struct number_text t;
	double v;

	if (!number_read(&t, s))
		return -EINVAL;
	v = strtod(t.digits, NULL);
	if (!isfinite(v))
		return -EINVAL;
	*ret = v;
	return 0;
}

static int float_to_int(double v, int64_t *ret)
{
	/* 2^63 is the smallest positive double that does not fit into an int64_t */
	if (!(v >= -0x1p63 && v < 0x1p63) || (double)(int64_t)v != v)
		return -EINVAL;
	*ret = (int64_t)v;
	return 0;
}

int python_int(const struct json_value *v, int64_t *ret)
{
	switch (v->type) {
	case JSON_BOOL:
		*ret = v->boolean;
		return 0;
	case JSON_INT:
		*ret = v->integer;
		return 0;
	case JSON_DOUBLE:
		return float_to_int(v->number, ret);
	case JSON_STRING:
		return text_to_int(v->string, ret);
	default:
		return -EINVAL;
	}
}

int python_float(const struct json_value *v, double *ret)
{
	switch (v->type) {
	case JSON_BOOL:
		*ret = v->boolean;
		return 0;
	case JSON_INT:
		*ret = (double)v->integer;
		return 0;
	case JSON_DOUBLE:
		if (!isfinite(v->number))
			return -EINVAL;
		*ret = v->number;
		return 0;
	case JSON_STRING:
		return text_to_float(v->string, ret);
	default:
		return -EINVAL;
	}
}

static int text_to_bool(struct str s, bool *ret)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = {
		{ "1", true },  { "true", true }, { "t", true },  { "yes", true },
		{ "y", true },  { "on", true },   { "0", false }, { "false", false },
		{ "f", false }, { "no", false },  { "n", false }, { "off", false },
	};
	char lower[8];

	if (s.n >= sizeof(lower))
		return -EINVAL;
	for (size_t i = 0; i < s.n; i++)
		lower[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] - 'A' + 'a') : s.p[i];
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (str_eq((struct str){ lower, s.n }, words[i].word)) {
			*ret = words[i].value;
			return 0;
		}
	}
	return -EINVAL;
}

int python_bool(const struct json_value *v, bool *ret)
{
	int64_t number = -1;

	switch (v->type) {
	case JSON_BOOL:
		*ret = v->boolean;
		return 0;
	case JSON_STRING:
		return text_to_bool(v->string, ret);
	case JSON_INT:
		number = v->integer;
		break;
	case JSON_DOUBLE:
		number = v->number == 1.0 ? 1 : v->number == 0.0 ? 0 : -1;
		break;
	default:
		break;
	}
	if (number != 0 && number != 1)
		return -EINVAL;
	*ret = number == 1;
	return 0;
}

/* --- printing --------------------------------------------------------------------------------- */

void python_print_bool(struct buf *b, bool v)
{
	buf_add_str(b, v ? "True" : "False");
}

/* Writes the shortest text in "%e" form that strtod() reads as V. */
static void shortest(double v, char out[32])
{
	for (int digits = 0; digits < 17; digits++) {
		snprintf(out, 32, "%.*e", digits, v);
		if (strtod(out, NULL) == v)
			return;
	}
}

void python_print_float(struct buf *b, double v)
{
	char text[32];
	const char *e;
	int power, digits;

	if (!isfinite(v)) {
		buf_add_str(b, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
		return;
	}
	shortest(v, text);
	e = strchr(text, 'e');
	power = (e[1] == '-' ? -1 : 1) * (e[2] - '0');
	for (const char *s = e + 3; *s; s++)
		power = power * 10 + (e[1] == '-' ? -1 : 1) * (*s - '0');
	digits = (int)(e - text) - (text[0] == '-') - (strchr(text, '.') != NULL);
	if (power < -4 || power >= 16)
		/* for example "1e+16" or "1.5e-07": C writes exponents as Python does */
		buf_add_str(b, text);
	else
		buf_addf(b, "%.*f", digits - 1 - power > 1 ? digits - 1 - power : 1, v);
}
