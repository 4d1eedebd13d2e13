/* Tests how records of a log are read back, filtered and shown as text. */
#include "logs/render.h"

#include <errno.h>

#include "logs/filter.h"
#include "t.h"

#define TIME "2026-01-02T03:04:05.678Z"
#define RECORD(d, e, id, s) \
	"{\"d\":" d ",\"e\":" e ",\"id\":" id ",\"s\":\"" s "\",\"t\":\"" TIME "\"}"

static void records(void)
{
	static const char *const bad[] = {
		"",
		"{}",
		"[]",
		"null",
		RECORD("\"x\"", "null", "1", "stdin"),
		RECORD("\"x\"", "null", "-1", "stdout"),
		RECORD("7", "null", "1", "stdout"),
		RECORD("\"x\"", "\"rot13\"", "1", "stdout"),
		RECORD("\"not base64!\"", "\"b64\"", "1", "stdout"),
		"{\"d\":\"x\",\"e\":null,\"id\":1,\"s\":\"stdout\",\"t\":\"yesterday\"}",
		"{\"d\":\"x\",\"e\":null,\"id\":1,\"s\":\"stdout\"}",
	};
	struct entry e;

	entry_init(&e);
	T_INT(entry_parse(&e, STR(RECORD("\"//4K\"", "\"b64\"", "7", "output"))), 0);
	T_INT(e.id, 7);
	T_INT(e.source, LOG_OUTPUT);
	T_INT(e.body.n, 3);
	T_INT(memcmp(e.body.p, "\xff\xfe\n", 3), 0);
	T_INT(entry_parse(&e, STR(RECORD("\"a\\u0000b\"", "null", "null", "net"))), 0);
	T_INT(e.id, 0);
	T_INT(e.body.n, 3);
	T_STR(e.time, TIME);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (entry_parse(&e, str_of(bad[i])) != -EINVAL)
			T_FAIL("accepted: %s", bad[i]);
	entry_done(&e);
}

static void stripping(void)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "plain", "plain" },
		{ "\033[1;31mred\033[0m", "red" },
		{ "\033]0;title\007text", "text" },
		{ "\033]8;;http://x\033\\link\033]8;;\033\\", "link" },
		{ "\033Pdcs\033\\x", "x" },
		{ "a\033(Bb", "ab" },
		{ "a\0337b", "ab" },
		{ "a\033", "a" },
		{ "a\033[", "a" },
		{ "a\033[12;", "a" },
		{ "a\033]0;never ends", "a" },
		{ "\033]0;cut short\033[31mx", "x" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO_BUF out = BUF_INIT(1024);

		render_strip(&out, str_of(cases[i].in));
		T_STR(buf_str(&out), cases[i].out);
	}
}

/* Renders the records one after the other. */
static void shown(struct buf *out, struct render r, const char *const *lines)
{
	struct entry e;

	entry_init(&e);
	buf_clear(out);
	for (; *lines; lines++) {
		T_INT(entry_parse(&e, str_of(*lines)), 0);
		render_entry(out, &r, &e);
	}
	entry_done(&e);
}

static void text(void)
{
	static const char *const lines[] = {
		RECORD("\"one\\ntwo\\n\\nthree\"", "null", "3", "stdout"),
		RECORD("\" goes on\"", "null", "3", "stdout"),
		RECORD("\"--- marker ---\"", "null", "null", "system"),
		RECORD("\"\\u001b[1mbold\\u001b[0m\\n\"", "null", "1234", "stderr"), NULL
	};
	AUTO_BUF out = BUF_INIT(65536);

	shown(&out, (struct render){ 0 }, lines);
	T_STR(buf_str(&out), "one\ntwo\n\nthree goes on\n--- marker ---\nbold\n");
	shown(&out, (struct render){ .show_id = true }, lines);
	T_STR(buf_str(&out), "[id:  3] one\n[id:  3] two\n\n[id:  3] three\n[id:  3]  goes on\n"
			     "[id:sys] --- marker ---\n[id:1234] bold\n");
	shown(&out, (struct render){ .bytes = RENDER_RAW, .timestamps = true }, lines + 3);
	T_STR(buf_str(&out), TIME "\t\033[1mbold\033[0m\n");
	shown(&out, (struct render){ .bytes = RENDER_RAW, .timestamps = true },
	      (const char *[]){ lines[0], NULL });
	T_STR(buf_str(&out), TIME "\tone\n                        \ttwo\n\n"
				  "                        \tthree\n");
	shown(&out, (struct render){ .json = true, .timestamps = true }, lines + 2);
	T_STR(buf_str(&out),
	      RECORD("\"--- marker ---\"", "null", "null", "system") "\n" RECORD(
		      "\"\\u001b[1mbold\\u001b[0m\\n\"", "null", "1234", "stderr") "\n");
}

static void for_terminals(void)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "plain\ttext\n", "plain\ttext\n" },
		{ "\033[2Jx\033]0;t\007y", "xy" },
		{ "a\033", "a" },
		{ "a\bb\007c\016d\177", "a\\x08b\\x07c\\x0ed\\x7f" },
		{ "one\r\ntwo\r\n", "one\ntwo\n" },
		{ "10%\r20%\r\n", "10%\n20%\n" },
		{ "\xc2\x9b"
		  "2J \x9b"
		  "2J",
		  /* a C1 control character, in UTF-8 and as a single byte */
		  "\\xc2\\x9b2J \\x9b2J" },
		{ "gr\xc3\xbc\xc3\x9f \xe2\x82\xac", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac" },
		{ "\xff\xfe\xc3", "\\xff\\xfe\\xc3" },
		{ "\033\033[2J", "[2J" }, /* removing one sequence must not make another */
	};
	AUTO_BUF out = BUF_INIT(1024);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buf_clear(&out);
		render_clean(&out, str_of(cases[i].in));
		T_STR(buf_str(&out), cases[i].out);
	}
	buf_clear(&out);
	render_clean_json(&out, STR("{\"d\":\"\xc2\x9b\x7f\xc3\xbc\"}\r"));
	T_STR(buf_str(&out), "{\"d\":\"\\u009b\\u007f\xc3\xbc\"} ");
}

/* Tests characters and line ends that are split between two records. */
static void for_terminals_in_pieces(void)
{
	static const char *const lines[] = {
		RECORD("\"4oI=\"", "\"b64\"", "1", "stdout"), /* e2 82 */
		RECORD("\"rHg=\"", "\"b64\"", "1", "stdout"), /* ac x */
		RECORD("\"\\r\"", "null", "1", "stdout"),
		RECORD("\"\\ny\\u001b\"", "null", "1", "stdout"),
		RECORD("\"[2J\"", "null", "1", "stdout"),
		RECORD("\"wg==\"", "\"b64\"", "1", "stdout"), /* c2 */
		RECORD("\"mzJK\"", "\"b64\"", "1", "stdout"), /* 9b 2J */
		RECORD("\"wg==\"", "\"b64\"", "1", "stdout"),
		RECORD("\"mzJK\"", "\"b64\"", "2", "stdout"),
		NULL
	};
	AUTO_BUF out = BUF_INIT(1024);

	shown(&out, (struct render){ .bytes = RENDER_TERMINAL }, lines);
	T_STR(buf_str(&out), "\xe2\x82\xacx\ny[2J\\xc2\\x9b2J\\xc2\\x9b2J");
}

static int passes(const struct filter *f, const char *line)
{
	struct err err = { 0 };
	struct entry e;
	int r;

	entry_init(&e);
	T_INT(entry_parse(&e, str_of(line)), 0);
	r = filter_passes(f, &e, &err);
	entry_done(&e);
	return r;
}

static void filters(void)
{
	struct filter f = { .sources = FILTER_SOURCES_DEFAULT, .until_ns = UINT64_MAX };
	const char *line = RECORD("\"a\\nb c\\n\"", "null", "1", "stdout");
	struct err e = { 0 };
	uint64_t at;

	T_INT(passes(&f, line), 1);
	T_INT(passes(&f, RECORD("\"x\"", "null", "null", "system")), 0);
	T_INT(clock_parse_rfc3339(TIME, &at), 0);
	f.since_ns = at;
	T_INT(passes(&f, line), 1);
	f.since_ns = at + 1;
	T_INT(passes(&f, line), 0);
	f.since_ns = 0;
	f.until_ns = at;
	T_INT(passes(&f, line), 0);
	f.until_ns = UINT64_MAX;
	T_INT(filter_grep(&f, "^b", &e), 0);
	T_INT(passes(&f, line), 1);
	T_INT(passes(&f, RECORD("\"ab\"", "null", "1", "stdout")), 0);
	T_INT(passes(&f, RECORD("\"//4KYg==\"", "\"b64\"", "1", "stdout")), 1);
	filter_done(&f);
	T_INT(filter_grep(&f, "(", &e), -1);
	T_INT(e.code, ERR_INVALID);
	T_TRUE(f.grep == NULL);
}

/* An expression that would take 2^40 steps must fail. */
static void runaway_expression(void)
{
	struct filter f = { .sources = FILTER_SOURCES_DEFAULT, .until_ns = UINT64_MAX };
	struct err e = { 0 };

	T_INT(filter_grep(&f, "^(a+)+$", &e), 0);
	T_INT(passes(&f, RECORD("\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\"", "null", "1",
				"stdout")),
	      -1);
	filter_done(&f);
}

int main(void)
{
	T_RUN(records);
	T_RUN(stripping);
	T_RUN(text);
	T_RUN(for_terminals);
	T_RUN(for_terminals_in_pieces);
	T_RUN(filters);
	T_RUN(runaway_expression);
	return t_end();
}
