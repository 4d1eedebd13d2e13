#include "service/python.h"

#include <errno.h>

#include "base/cleanup.h"
#include "t.h"

static struct json_doc *doc; /* the document that value() read last */

static const struct json_value *value(const char *text)
{
	struct err e = { 0 };

	json_free(doc);
	doc = NULL;
	if (json_parse(text, strlen(text), &doc, &e) < 0)
		T_FAIL("%s: %s", text, e.msg);
	return doc ? json_root(doc) : NULL;
}

/* Checks that the same 29 characters count as spaces as with Python's str.isspace(). */
static void spaces(void)
{
	static const uint32_t want[] = { 0x9,    0xa,    0xb,    0xc,    0xd,    0x1c,
					 0x1d,   0x1e,   0x1f,   0x20,   0x85,   0xa0,
					 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004,
					 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a,
					 0x2028, 0x2029, 0x202f, 0x205f, 0x3000 };
	size_t n = 0;

	for (uint32_t c = 0; c < 0x110000; c++) {
		if (!python_is_space(c))
			continue;
		if (n >= ARRAY_SIZE(want) || want[n] != c)
			T_FAIL("U+%04X", c);
		n++;
	}
	T_INT(n, ARRAY_SIZE(want));
}

static void trimming(void)
{
	static const struct {
		const char *text, *want, *want_end;
	} c[] = {
		{ "", "", "" },
		{ " \t\r\n\v\f\x1c\x1f", "", "" },
		{ "  a b  ", "a b", "  a b" },
		{ "\xc2\xa0\xe2\x80\x83x\xe3\x80\x80\xc2\x85", "x", "\xc2\xa0\xe2\x80\x83x" },
		{ "\xe2\x80\x8bx\xe2\x80\x8b", "\xe2\x80\x8bx\xe2\x80\x8b",
		  "\xe2\x80\x8bx\xe2\x80\x8b" }, /* U+200B is no space */
		{ "\xf0\x9f\x98\x80 ", "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
		{ "\xff ", "\xff", "\xff" },
		{ "\x80\x80\x80\x80\x80", "\x80\x80\x80\x80\x80", "\x80\x80\x80\x80\x80" },
	};
	struct str nul = python_trim((struct str){ " \0 ", 3 });

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		T_TRUE(str_eq(python_trim(str_of(c[i].text)), c[i].want));
		T_TRUE(str_eq(python_trim_end(str_of(c[i].text)), c[i].want_end));
	}
	T_INT(nul.n, 1); /* NUL is no space */
	T_TRUE(python_has_space(STR("a\xe3\x80\x80z")) && python_has_space(STR(" ")));
	T_TRUE(!python_has_space(STR("a\xe3\x80\x81z")) && !python_has_space(STR("")));
}

static void counting(void)
{
	struct str s = STR("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z");

	T_INT(python_length(s), 5);
	T_INT(python_length(STR("")), 0);
	T_INT(python_first(s, 0).n, 0);
	T_INT(python_first(s, 2).n, 3);
	T_INT(python_first(s, 4).n, 10);
	T_INT(python_first(s, 5).n, 11);
	T_INT(python_first(s, 9).n, 11);
}

static void names(void)
{
	T_TRUE(python_is_name(STR("csv-tools_2")));
	T_TRUE(python_is_name(STR("")));
	T_TRUE(python_is_name(STR("\xe6\x8a\x80\xe8\x83\xbd\xc3\xa9\xc2\xb2"))); /* 技能é² */
	T_TRUE(!python_is_name(STR("a b")));
	T_TRUE(!python_is_name(STR("a/b")));
	T_TRUE(!python_is_name(STR("a.b")));
	T_TRUE(!python_is_name(STR("a\xe2\x80\x94"))); /* an em dash */
	T_TRUE(!python_is_name(STR("\xf0\x9f\x98\x80")));
	T_TRUE(!python_is_name((struct str){ "a\0", 2 }));
	T_TRUE(python_is_alnum(0x30) && python_is_alnum(0x7a) && !python_is_alnum(0x7b));
	T_TRUE(!python_is_alnum(0x10ffff) && !python_is_alnum(0));
}

static void integers(void)
{
	static const struct {
		const char *text;
		int64_t want;
	} good[] = {
		{ "0", 0 },
		{ "45", 45 },
		{ "-3", -3 },
		{ "2.0", 2 },
		{ "-0.0", 0 },
		{ "1e3", 1000 },
		{ "true", 1 },
		{ "false", 0 },
		{ "\"45\"", 45 },
		{ "\" 7 \"", 7 },
		{ "\"\\u00a07\\n\"", 7 },
		{ "\"+3\"", 3 },
		{ "\"-3\"", -3 },
		{ "\"1_000\"", 1000 },
		{ "\"1_0_0\"", 100 },
		{ "\"2.0\"", 2 },
		{ "\"2.000\"", 2 },
		{ "\"007\"", 7 },
		{ "9223372036854775807", INT64_MAX },
		{ "\"-9223372036854775808\"", INT64_MIN },
		{ "-9223372036854775808.0", INT64_MIN },
	};
	static const char *const bad[] = {
		"2.5",
		"\"2.5\"",
		"\"1e3\"",
		"\"\"",
		"\" \"",
		"\"x\"",
		"\"1x\"",
		"\"0x1\"",
		"\"_1\"",
		"\"1_\"",
		"\"1__0\"",
		"\"+-1\"",
		"\"- 1\"",
		"\"1 0\"",
		"\"2.5_\"",
		"\".0\"",
		"\"nan\"",
		"\"inf\"",
		"\"True\"",
		"null",
		"[]",
		"{}",
		"[1]",
		"1e300",
		"-1e300",
		"9223372036854775808",
		"\"9223372036854775808\"",
		"\"-9223372036854775809\"",
		"\"\\u0663\"",
	};
	AUTO_BUF longest = BUF_INIT(1024);
	int64_t got = 0;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		got = -77;
		if (python_int(value(good[i].text), &got) < 0 || got != good[i].want)
			T_FAIL("%s gives %" PRId64, good[i].text, got);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (python_int(value(bad[i]), &got) != -EINVAL)
			T_FAIL("%s is accepted", bad[i]);
	buf_add_char(&longest, '"');
	buf_add_fill(&longest, '0', 700);
	buf_add_char(&longest, '"');
	T_INT(python_int(value(longest.p), &got), -EINVAL);
}

static void floats(void)
{
	static const struct {
		const char *text;
		double want;
	} good[] = {
		{ "1", 1.0 },
		{ "0.5", 0.5 },
		{ "true", 1.0 },
		{ "false", 0.0 },
		{ "\"1.0\"", 1.0 },
		{ "\" 2 \"", 2.0 },
		{ "\"1e2\"", 100.0 },
		{ "\"1E+2\"", 100.0 },
		{ "\"-1.5e-1\"", -0.15 },
		{ "\".5\"", 0.5 },
		{ "\"5.\"", 5.0 },
		{ "\"+.5\"", 0.5 },
		{ "\"1_0.2_5\"", 10.25 },
	};
	static const char *const bad[] = {
		"\"\"",          "\".\"",     "\"e1\"",   "\"1e\"",
		"\"1e+\"",       "\"0x10\"",  "\"nan\"",  "\"inf\"",
		"\"-Infinity\"", "\"1e999\"", "\"1.0x\"", "null",
		"\"1 2\"",       "[]",        "{}",       "\"1..0\"",
		"\"_1\"",        "\"1_.0\"",
	};
	double got = 0;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		got = -77;
		if (python_float(value(good[i].text), &got) < 0 || got != good[i].want)
			T_FAIL("%s gives %g", good[i].text, got);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (python_float(value(bad[i]), &got) != -EINVAL)
			T_FAIL("%s is accepted", bad[i]);
}

static void booleans(void)
{
	static const char *const yes[] = { "true",     "1",     "1.0",     "\"1\"", "\"true\"",
					   "\"TRUE\"", "\"t\"", "\"Yes\"", "\"y\"", "\"on\"" };
	static const char *const no[] = { "false",     "0",     "0.0",    "-0.0",  "\"0\"",
					  "\"False\"", "\"f\"", "\"no\"", "\"N\"", "\"OFF\"" };
	static const char *const bad[] = {
		"2",         "-1",        "0.5",   "\"\"",           "\" true\"",
		"\"true \"", "\"maybe\"", "\"2\"", "\"yess\"",       "\"truetruetrue\"",
		"null",      "[]",        "{}",    "\"true\\u0000\""
	};
	bool got;

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
		if (python_bool(value(yes[i]), &got) < 0 || !got)
			T_FAIL("%s", yes[i]);
	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		if (python_bool(value(no[i]), &got) < 0 || got)
			T_FAIL("%s", no[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (python_bool(value(bad[i]), &got) != -EINVAL)
			T_FAIL("%s is accepted", bad[i]);
}

/* Checks that a number is printed as Python's repr() prints it. */
static void printing(void)
{
	static const struct {
		double v;
		const char *want;
	} c[] = {
		{ 0.0, "0.0" },
		{ -0.0, "-0.0" },
		{ 1.0, "1.0" },
		{ 0.5, "0.5" },
		{ 2.0, "2.0" },
		{ 1.5, "1.5" },
		{ 0.1, "0.1" },
		{ 100.0, "100.0" },
		{ 1000000000000000.0, "1000000000000000.0" },
		{ 1e+16, "1e+16" },
		{ 1.2345678901234568e+17, "1.2345678901234568e+17" },
		{ 0.0001, "0.0001" },
		{ 1e-05, "1e-05" },
		{ 1.5e-07, "1.5e-07" },
		{ 3.141592653589793, "3.141592653589793" },
		{ 0.3333333333333333, "0.3333333333333333" },
		{ 1e+22, "1e+22" },
		{ 5e-324, "5e-324" },
		{ 1.7976931348623157e+308, "1.7976931348623157e+308" },
		{ -2.5, "-2.5" },
		{ 0.25, "0.25" },
		{ 9999999999999998.0, "9999999999999998.0" },
		{ 1e+100, "1e+100" },
		{ 123.456, "123.456" },
		{ 12345678901234.5, "12345678901234.5" },
	};
	AUTO_BUF b = BUF_INIT(64);

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		buf_clear(&b);
		python_print_float(&b, c[i].v);
		T_STR(buf_str(&b), c[i].want);
	}
	buf_clear(&b);
	python_print_bool(&b, true);
	python_print_bool(&b, false);
	T_STR(buf_str(&b), "TrueFalse");
}

int main(void)
{
	T_RUN(spaces);
	T_RUN(trimming);
	T_RUN(counting);
	T_RUN(names);
	T_RUN(integers);
	T_RUN(floats);
	T_RUN(booleans);
	T_RUN(printing);
	json_free(doc);
	return t_end();
}
