#include "base/str.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "t.h"

static void numbers(void)
{
	uint64_t v = 7;

	T_INT(parse_u64("0", 0, 10, &v), 0);
	T_INT(v, 0);
	T_INT(parse_u64("18446744073709551615", 0, UINT64_MAX, &v), 0);
	T_TRUE(v == UINT64_MAX);
	T_INT(parse_u64("18446744073709551616", 0, UINT64_MAX, &v), -ERANGE);
	T_INT(parse_u64("", 0, 10, &v), -EINVAL);
	T_INT(parse_u64("-1", 0, 10, &v), -EINVAL);
	T_INT(parse_u64("+1", 0, 10, &v), -EINVAL);
	T_INT(parse_u64(" 1", 0, 10, &v), -EINVAL);
	T_INT(parse_u64("11", 0, 10, &v), -ERANGE);
}

static void cutting(void)
{
	struct str rest = STR("a:b:");
	struct str head = str_cut(&rest, ':');

	T_TRUE(str_eq(head, "a"));
	T_TRUE(str_eq(str_cut(&rest, ':'), "b"));
	T_TRUE(rest.p != NULL && rest.n == 0);
	T_TRUE(str_eq(str_cut(&rest, ':'), ""));
	T_TRUE(rest.p == NULL);
}

static void utf8(void)
{
	T_TRUE(utf8_valid("h\xc3\xa9llo \xf0\x9f\x98\x80", 11));
	T_TRUE(!utf8_valid("\xc0\x80", 2));
	T_TRUE(!utf8_valid("\xed\xa0\x80", 3));
	T_TRUE(!utf8_valid("\xf4\x90\x80\x80", 4));
	T_TRUE(!utf8_valid("\xe2\x82", 2));
	T_TRUE(!utf8_valid("\xff", 1));
	T_TRUE(!utf8_valid("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 12));
	T_TRUE(!utf8_valid("\xf5\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 12));
}

/* The expected results are those of Python's decoder. */
static void utf8_in_pieces(void)
{
	static const struct {
		const char *text;
		size_t n, prefix;
		bool bad;
		const char *replaced;
	} c[] = {
		{ "", 0, 0, false, "" },
		{ "plain", 5, 5, false, "plain" },
		{ "h\xc3\xa9", 3, 3, false, "h\xc3\xa9" },
		{ "\xe2\x82", 2, 0, false, "\xef\xbf\xbd" },
		{ "\xe2\x82x", 3, 0, true, "\xef\xbf\xbdx" },
		{ "\xf0\x9f\x98", 3, 0, false, "\xef\xbf\xbd" },
		{ "\xf0\x80\x80\x80", 4, 0, true,
		  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xed\xa0\x80", 3, 0, true, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xc0\x80", 2, 0, true, "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xf4\x90\x80\x80", 4, 0, true,
		  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xff\xfe", 2, 0, true, "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\x80", 1, 0, true, "\xef\xbf\xbd" },
		{ "a\xe2\x82\xac"
		  "b\xe2(\xa1"
		  "c",
		  9, 5, true,
		  "a\xe2\x82\xac"
		  "b\xef\xbf\xbd(\xef\xbf\xbd"
		  "c" },
		{ "\xf0\x9f\x98\x80\xf0\x9f\x98", 7, 4, false, "\xf0\x9f\x98\x80\xef\xbf\xbd" },
		{ "\xe2\xe2\x82\xac", 4, 0, true, "\xef\xbf\xbd\xe2\x82\xac" },
		{ "12345678\xc3\xa9"
		  "12345678\xff",
		  19, 18, true,
		  "12345678\xc3\xa9"
		  "12345678\xef\xbf\xbd" },
		{ "\xf1\x80\x80", 3, 0, false, "\xef\xbf\xbd" },
		{ "\xc3", 1, 0, false, "\xef\xbf\xbd" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		AUTO_BUF b = BUF_INIT(256);
		bool bad;

		T_INT(utf8_prefix(c[i].text, c[i].n, &bad), c[i].prefix);
		T_INT(bad, c[i].bad);
		buf_add_utf8(&b, c[i].text, c[i].n);
		T_STR(buf_str(&b), c[i].replaced);
	}
	T_INT(utf8_step("\0", 1), 1);
	T_INT(utf8_step("\xf0\x9f\x98\x80x", 5), 4);
	T_INT(utf8_step("\xf0\x9f\x98x", 4), -3);
	T_INT(utf8_step("\xff\xff", 2), -1);
}

static void distance(void)
{
	T_INT(str_distance("public", "publik", 2), 1);
	T_INT(str_distance("ab", "ba", 2), 1);
	T_INT(str_distance("host", "private", 2), 3);
	T_INT(str_distance("", "ab", 2), 2);
}

static void buffers(void)
{
	AUTO_BUF b = BUF_INIT(10);

	buf_addf(&b, "%s-%d", "abc", 42);
	T_STR(buf_str(&b), "abc-42");
	buf_drop(&b, 4);
	T_STR(buf_str(&b), "42");
	buf_add_str(&b, "12345678");
	T_TRUE(!buf_failed(&b));
	buf_add_char(&b, 'x');
	T_TRUE(buf_failed(&b));
	buf_add_str(&b, "");
	T_TRUE(buf_failed(&b));
	T_STR(buf_str(&b), "4212345678");
}

static void a_buffer_begins_in_memory_of_the_caller(void)
{
	char room[8], other[8];
	AUTO_BUF b = BUF_IN(room, 20);
	AUTO_BUF taken = BUF_IN(other, 20);
	char *text;

	buf_add_str(&b, "1234567");
	T_TRUE(b.p == room);
	buf_add_char(&b, '8'); /* the text no longer fits into ROOM: the buffer moves to the heap */
	T_TRUE(b.p != room);
	T_STR(buf_str(&b), "12345678");
	T_STR(room, "1234567");
	buf_add_str(&b, "123456789012");
	T_TRUE(!buf_failed(&b));
	buf_add_char(&b, 'x');
	T_TRUE(buf_failed(&b));

	buf_add_str(&taken, "mine");
	text = buf_take(&taken);
	other[0] = 'x';
	T_STR(text, "mine");
	T_STR(buf_str(&taken), "");
	free(text);
}

static void errors(void)
{
	struct err e = { 0 };

	T_INT(err_sys(&e, ENOENT, "open '%s'", "x"), -1);
	T_INT(e.code, ERR_NOT_FOUND);
	err_wrap(&e, "start '%s'", "box");
	T_STR(e.msg, "start 'box': open 'x': No such file or directory");
	T_INT(err_exit_status(ERR_USAGE), 2);
}

static void times(void)
{
	char out[CLOCK_RFC3339_BYTES];
	uint64_t ns = 0;

	clock_rfc3339_ms(1767323045678901234ull, out);
	T_STR(out, "2026-01-02T03:04:05.678Z");
	T_INT(clock_parse_rfc3339("2026-01-02T03:04:05.678Z", &ns), 0);
	T_TRUE(ns == 1767323045678000000ull);
	T_INT(clock_parse_rfc3339("2026-01-02T04:04:05+01:00", &ns), 0);
	T_TRUE(ns == 1767323045000000000ull);
	T_INT(clock_parse_rfc3339("2026-13-02T04:04:05Z", &ns), -EINVAL);
	T_INT(clock_parse_rfc3339("2026-01-02", &ns), -EINVAL);
	T_INT(clock_parse_rfc3339("2554-07-01T00:00:00Z", &ns), 0);
	/* too many nanoseconds for 64 bits */
	T_INT(clock_parse_rfc3339("9999-01-01T00:00:00Z", &ns), -EINVAL);
}

int main(void)
{
	T_RUN(numbers);
	T_RUN(cutting);
	T_RUN(utf8);
	T_RUN(utf8_in_pieces);
	T_RUN(distance);
	T_RUN(buffers);
	T_RUN(a_buffer_begins_in_memory_of_the_caller);
	T_RUN(errors);
	T_RUN(times);
	return t_end();
}
