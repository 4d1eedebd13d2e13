#include "wire/frame_stdio.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "t.h"

/* Feeds N bytes in pieces of STEP bytes to a reader. Returns the messages, each followed by '|',
 * and then "!" if the reader failed. A message of 200 bytes or more is cut and followed by its
 * length. */
static const char *heard(const char *p, size_t n, size_t step)
{
	static char out[4096];
	AUTO_BUF b = BUF_INIT(sizeof(out) - 1);
	struct stdio_reader r;
	struct str message;
	int got = 0;

	stdio_reader_init(&r);
	for (size_t at = 0; at < n && got >= 0; at += step) {
		struct str in = { p + at, n - at < step ? n - at : step };

		while ((got = stdio_next(&r, &in, &message)) == 1) {
			buf_add(&b, message.p, message.n < 200 ? message.n : 200);
			if (message.n >= 200)
				buf_addf(&b, "(%zu)", message.n);
			buf_add_char(&b, '|');
		}
		if (got == 0)
			T_INT(in.n, 0);
	}
	if (got < 0) {
		T_INT(got, -EPROTO);
		buf_add_char(&b, '!');
	}
	stdio_reader_done(&r);
	snprintf(out, sizeof(out), "%s", buf_str(&b));
	return out;
}

#define START(n) "{\"type\":\"chunk_start\",\"total_size\":" n "}\n"
#define DATA(text, at) "{\"type\":\"chunk_data\",\"data\":\"" text "\",\"offset\":" at "}\n"
#define END "{\"type\":\"chunk_end\"}\n"

static void lines(void)
{
	static const struct {
		const char *text, *want;
	} c[] = {
		{ "", "" },
		{ "{\"a\":1}", "" }, /* no line end yet */
		{ "{\"a\":1}\n", "{\"a\":1}|" },
		{ "{\"a\":1}\r\n{}\n", "{\"a\":1}|{}|" },
		{ "  {\"a\":1} \t\n\n \n", "{\"a\":1}|" },
		{ "hello\n{\"a\":1}\n[1]\n{\n}\n{y\n{x}\n", "{\"a\":1}|{x}|" },
		{ "{\"type\":\"chunk_other\"}\n", "{\"type\":\"chunk_other\"}|" },
		{ "{\"cmd\":\"\\\"chunk_start\"}\n", "{\"cmd\":\"\\\"chunk_start\"}|" },
		{ "{\"chunk_x\":\n{\"a\":\"chunk_start\"}\n", "{\"a\":\"chunk_start\"}|" },
		/* chunks */
		{ START("3") DATA("abc", "0") END, "abc|" },
		{ START("6") DATA("{\\\"", "0") DATA("a\\\":", "2") DATA("}", "5") END "{}\n",
		  "{\"a\":}|{}|" },
		{ START("3") DATA("\\u20ac", "0") END, "\xe2\x82\xac|" },
		{ START("0") END, "|" },
		{ START("3") "noise\n{noise}\n\n" DATA("abc", "0") "{]}\n" END, "abc|" },
		/* chunks outside of a sequence */
		{ DATA("abc", "0") END "{}\n", "{}|" },
		{ START("1") DATA("a", "0") END END "{}\n", "a|{}|" },
		/* broken sequences */
		{ START("3") DATA("ab", "0") END, "!" },
		{ START("1") DATA("ab", "0"), "!" },
		{ START("4") DATA("ab", "0") DATA("cd", "3"), "!" },
		{ START("4") DATA("ab", "0") DATA("cd", "1"), "!" },
		{ START("4") DATA("ab", "1"), "!" },
		{ START("4") DATA("ab", "-1"), "!" },
		{ START("4") DATA("ab", "\"0\""), "!" },
		{ START("4") "{\"type\":\"chunk_data\",\"offset\":0}\n", "!" },
		{ START("4") "{\"type\":\"chunk_data\",\"data\":5,\"offset\":0}\n", "!" },
		{ START("4") START("4"), "!" },
		{ START("4") "{\"action\":\"x\"}\n", "!" },
		{ START("-1"), "!" },
		{ START("\"4\""), "!" },
		{ "{\"type\":\"chunk_start\"}\n", "!" },
		{ START("16777217"), "!" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++)
		for (size_t step = 1; step < 200; step = step * 2 + 1) {
			const char *got = heard(c[i].text, strlen(c[i].text), step);

			if (strcmp(got, c[i].want) != 0)
				T_FAIL("'%s' by %zu: got '%s', want '%s'", c[i].text, step, got,
				       c[i].want);
		}
}

static void pieces_have_a_number(void)
{
	AUTO_BUF b = BUF_INIT(1 << 20);

	buf_add_str(&b, START("0"));
	for (unsigned i = 0; i < STDIO_PIECES_MAX; i++)
		buf_add_str(&b, DATA("", "0"));
	buf_add_str(&b, END);
	T_STR(heard(b.p, b.n, 65536), "|");
	buf_cut(&b, b.n - strlen(END));
	buf_add_str(&b, DATA("", "0"));
	T_STR(heard(b.p, b.n, 65536), "!");
}

static void lines_have_a_size(void)
{
	AUTO_BUF b = BUF_INIT(32u << 20);

	buf_add_str(&b, "{\"a\":\"");
	buf_add_fill(&b, 'x', STDIO_MESSAGE_MAX_BYTES - b.n - 2);
	buf_add_str(&b, "\"}\n");
	T_TRUE(strstr(heard(b.p, b.n, 65536), "(16777216)|") != NULL);
	T_TRUE(strstr(heard(b.p, b.n, b.n), "(16777216)|") != NULL);
	buf_cut(&b, b.n - 3);
	buf_add_str(&b, "x\"}\n");
	T_STR(heard(b.p, b.n, 65536), "!");
	T_STR(heard(b.p, b.n, b.n), "!");
}

/* Checks that written messages are read back unchanged, and that their lines are short enough for
 * the peer. */
static void round_trips(void)
{
	static const size_t lengths[] = { 2,     100,   16383, 16384,  16385,
					  32768, 40012, 65536, 300000, STDIO_MESSAGE_MAX_BYTES };
	static const char *const fills[] = { "x",        "\"",           "\\",
					     "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80" };

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(fills); k++) {
			AUTO_BUF text = BUF_INIT(STDIO_MESSAGE_MAX_BYTES),
				 out = BUF_INIT(64u << 20);
			struct stdio_reader r;
			struct str in, got = { 0 };
			size_t longest = 0;

			if (lengths[i] > 1000000 && k > 0)
				continue;
			buf_add_char(&text, '{');
			while (text.n + strlen(fills[k]) < lengths[i])
				buf_add_str(&text, fills[k]);
			buf_add_char(&text, '}');
			stdio_put(&out, (struct str){ text.p, text.n });
			T_TRUE(!buf_failed(&out));
			T_INT(out.p[out.n - 1], '\n');
			for (const char *s = out.p, *end; (end = strchr(s, '\n')); s = end + 1)
				longest = (size_t)(end - s) > longest ? (size_t)(end - s) : longest;
			T_TRUE(longest < 65536);
			T_INT(out.n == text.n + 1, text.n <= 16384);
			stdio_reader_init(&r);
			in = (struct str){ out.p, out.n };
			T_INT(stdio_next(&r, &in, &got), 1);
			T_TRUE(got.n == text.n && memcmp(got.p, text.p, text.n) == 0);
			T_INT(stdio_next(&r, &in, &got), 0);
			T_TRUE(stdio_held_bytes(&r) <= 65536);
			stdio_reader_done(&r);
		}
	}
}

static void chunks_look_like_this(void)
{
	AUTO_BUF text = BUF_INIT(40000), out = BUF_INIT(100000);
	const char *second;

	buf_add_char(&text, '{');
	buf_add_fill(&text, 'x', 16382);
	buf_add_str(&text, "\xc3\xa9"); /* the first piece ends before this character */
	buf_add_str(&text, "}");
	stdio_put(&out, (struct str){ text.p, text.n });
	T_TRUE(starts_with(out.p, "{\"type\":\"chunk_start\",\"total_size\":16386}\n"
				  "{\"type\":\"chunk_data\",\"data\":\"{xxx"));
	second = strstr(out.p, "\"offset\":0}\n");
	T_TRUE(second != NULL);
	T_STR(second ? second : "",
	      "\"offset\":0}\n{\"type\":\"chunk_data\",\"data\":\"\xc3\xa9}\","
	      "\"offset\":16383}\n{\"type\":\"chunk_end\"}\n");
}

int main(void)
{
	T_RUN(lines);
	T_RUN(pieces_have_a_number);
	T_RUN(lines_have_a_size);
	T_RUN(round_trips);
	T_RUN(chunks_look_like_this);
	return t_end();
}
