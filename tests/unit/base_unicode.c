#include "base/unicode.h"

#include "t.h"

static bool trims_to(const char *from, const char *want)
{
	return str_eq(unicode_trim(str_of(from)), want);
}

static void trimming(void)
{
	T_TRUE(trims_to("", ""));
	T_TRUE(trims_to(" \t\r\n\v\f", ""));
	T_TRUE(trims_to("  a b\n", "a b"));
	T_TRUE(trims_to("\x1c\x1d\x1e\x1f"
			"a",
			"a"));
	T_TRUE(trims_to("\xc2\x85\xc2\xa0\xe1\x9a\x80\xe2\x80\x80 x \xe2\x80\x8a\xe2\x80\xa8"
			"\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\x9f\xe3\x80\x80",
			"x"));
	/* these are not white space: U+200B, U+0000, U+FEFF, a byte that is no character */
	T_TRUE(trims_to("\xe2\x80\x8b", "\xe2\x80\x8b"));
	T_INT(unicode_trim((struct str){ "\0", 1 }).n, 1);
	T_TRUE(trims_to("\xef\xbb\xbf", "\xef\xbb\xbf"));
	T_TRUE(trims_to(" \x85 ", "\x85"));
}

static void counting(void)
{
	T_INT(unicode_count(str_of("")), 0);
	T_INT(unicode_count(str_of("abc")), 3);
	T_INT(unicode_count(str_of("\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80")), 3);
	T_INT(unicode_count(str_of("\xff\xe4\xb8")), 3);
}

static void characters(void)
{
	struct str s = str_of("A\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80\xff");

	T_INT(unicode_take(&s), 'A');
	T_INT(unicode_take(&s), 0xe9);
	T_INT(unicode_take(&s), 0x4e2d);
	T_INT(unicode_take(&s), 0x1f600);
	T_INT(unicode_take(&s), 0xfffd);
	T_INT(s.n, 0);
}

static void letters_and_digits(void)
{
	static const uint32_t yes[] = {
		'0',    '9',  'a',  'z',    'A',    'Z',    0xe9,   0x4e2d,
		0x0663, 0xb2, 0xbd, 0x2460, 0x216b, 0x3042, 0xac00, 0x1d7ce
	};
	static const uint32_t no[] = { 0,       '-',    '_',    ' ',    '/',
				       '.',     0x7f,   0x0301, 0x093e, 0x200b,
				       0x1f600, 0xd800, 0xfffd, 0xe000, 0x10ffff };

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		if (!unicode_is_alnum(yes[i]))
			T_FAIL("U+%04X is a letter or a digit", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (unicode_is_alnum(no[i]))
			T_FAIL("U+%04X is neither", no[i]);
}

static void lines(void)
{
	struct str s = str_of("a\nb\r\nc\rd\v\x85\xe2\x80\xa8"
			      "e");

	T_TRUE(str_eq(unicode_take_line(&s), "a\n"));
	T_TRUE(str_eq(unicode_take_line(&s), "b\r\n"));
	T_TRUE(str_eq(unicode_take_line(&s), "c\r"));
	T_TRUE(str_eq(unicode_take_line(&s), "d\v"));
	T_TRUE(str_eq(unicode_take_line(&s), "\x85\xe2\x80\xa8"));
	T_TRUE(str_eq(unicode_take_line(&s), "e"));
	T_INT(s.n, 0);
}

int main(void)
{
	T_RUN(trimming);
	T_RUN(counting);
	T_RUN(characters);
	T_RUN(letters_and_digits);
	T_RUN(lines);
	return t_end();
}
