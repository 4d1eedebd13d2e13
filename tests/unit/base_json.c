#include "base/json.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "t.h"

static bool accepts(const char *p, size_t n)
{
	AUTO_JSON d = NULL;
	struct err e = { 0 };

	return json_parse(p, n, &d, &e) == 0;
}

static const char *round_trip_by(const char *text, int (*parse)(const char *, size_t,
								struct json_doc **, struct err *))
{
	static char out[4096];
	AUTO_BUF b = BUF_INIT(sizeof(out) - 1);
	AUTO_JSON d = NULL;
	struct err e = { 0 };
	struct json_writer w;

	json_writer_init(&w, &b, 0);
	if (parse(text, strlen(text), &d, &e) < 0)
		buf_add_str(&b, e.msg);
	else
		json_value_copy(&w, json_root(d));
	snprintf(out, sizeof(out), "%s", buf_str(&b));
	return out;
}

/* Parses TEXT. Returns the value as compact JSON, or the error message if TEXT does not parse. */
static const char *round_trip(const char *text)
{
	return round_trip_by(text, json_parse);
}

static const char *lenient(const char *text)
{
	return round_trip_by(text, json_parse_lenient);
}

static void accepted(void)
{
	T_STR(round_trip(" [ ] "), "[]");
	T_STR(round_trip("{}"), "{}");
	T_STR(round_trip("\t{\"a\" : [1, -2 ,{\"b\":null}],\r\n\"\":true , \"c\":false}"),
	      "{\"a\":[1,-2,{\"b\":null}],\"\":true,\"c\":false}");
	T_STR(round_trip("[[1,2],[3,[4,5,[]]],{\"x\":[6],\"y\":{\"z\":7}},8]"),
	      "[[1,2],[3,[4,5,[]]],{\"x\":[6],\"y\":{\"z\":7}},8]");
	T_STR(round_trip("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u001f\\u007f\""),
	      "\"\\\"\\\\/\\b\\f\\n\\r\\tA\\u001f\\u007f\"");
	T_STR(round_trip("\"\\u0080\xc2\x9b\xc2\x9f\xc2\xa0\xc3\x9b\""),
	      "\"\\u0080\\u009b\\u009f\xc2\xa0\xc3\x9b\"");
	T_STR(round_trip("\"\\u00e9\\u20AC\\ud83d\\uDE00\""),
	      "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
	T_STR(round_trip("\"a\\u0000b\""), "\"a\\u0000b\"");
	T_STR(round_trip("{\"a\\u0000b\":1,\"a\":2}"), "{\"a\\u0000b\":1,\"a\":2}");
}

static void refused(void)
{
	static const char *const bad[] = {
		"",
		" ",
		"nul",
		"nulll",
		"True",
		"[",
		"]",
		"{",
		"[1,]",
		"[,1]",
		"[1 2]",
		"[1]]",
		"1 2",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"{a:1}",
		"{'a':1}",
		"{1:1}",
		"{\"a\" 1}",
		"{\"a\":1 \"b\":2}",
		"[1}",
		"{\"a\":1]",
		"01",
		"-01",
		"+1",
		"-",
		"1.",
		".5",
		"1.e1",
		"1e",
		"1e+",
		"0x10",
		"1e1.5",
		"NaN",
		"Infinity",
		"-Infinity",
		"1e999",
		"-1e999",
		"--1",
		"\"",
		"\"\\\"",
		"\"\\x41\"",
		"\"\\u12\"",
		"\"\\u12g4\"",
		"\"\\ud800\"",
		"\"\\udc00\"",
		"\"\\ud800x\"",
		"\"\\ud800\\u0041\"",
		"\"\\ud800\\ud800\"",
		"\"a\nb\"",
		"\"a\tb\"",
		"\"\x01\"",
		"\"\xff\"",
		"\"\xc0\x80\"",
		"\"\xed\xa0\x80\"",
		"\"\xe2\x82\"",
		"\xef\xbb\xbf[]",
		"[1]\v",
		"\f1",
		"/**/1",
		"[1]//",
		"\xc2\xa0"
		"1",
		"\"\\",
		"\"\\u",
		"{\"a\":1,\"a\":1}",
		"{\"a\":1,\"\\u0061\":1}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (accepts(bad[i], strlen(bad[i])))
			T_FAIL("accepted %s", bad[i]);
	T_TRUE(!accepts("1\0", 2));
	T_TRUE(!accepts("\"\0\"", 3));
}

static void positions(void)
{
	T_STR(round_trip("[1,\n  x]"), "line 2 column 3: expected a value");
	T_STR(round_trip("[\"\xc3\xa9\" 1]"), "line 1 column 6: expected ',' or ']'");
	T_STR(round_trip("{\"a\": "), "line 1 column 7: the text ends too early");
	T_STR(round_trip("[\"ok\", \"\xff\"]"), "line 1 column 8: string is not UTF-8");
	T_STR(round_trip("{\"k\":1,\"k\":2}"),
	      "line 1 column 13: two members 'k' in the object that ends here");
}

static void numbers(void)
{
	T_STR(round_trip("-0"), "0");
	T_STR(round_trip("9223372036854775807"), "9223372036854775807");
	T_STR(round_trip("-9223372036854775808"), "-9223372036854775808");
	T_STR(round_trip("9223372036854775808"), "9.223372036854776e+18");
	T_STR(round_trip("-9223372036854775809"), "-9.223372036854776e+18");
	T_STR(round_trip("123456789012345678901234567890"), "1.2345678901234568e+29");
	T_STR(round_trip("1.0"), "1.0");
	T_STR(round_trip("-0.0"), "-0.0");
	T_STR(round_trip("1e2"), "100.0");
	T_STR(round_trip("0.1"), "0.1");
	T_STR(round_trip("0.30000000000000004"), "0.30000000000000004");
	T_STR(round_trip("1e-400"), "0.0");
	T_STR(round_trip("1E+2"), "100.0");
}

static void doubles(void)
{
	static const double v[] = { 1.0 / 3, DBL_MAX, DBL_MIN, 5e-324, -1e21, 1e15, 123456.789 };

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		AUTO_BUF b = BUF_INIT(100);
		AUTO_JSON d = NULL;
		struct err e = { 0 };
		struct json_writer w;

		json_writer_init(&w, &b, 0);
		json_double(&w, v[i]);
		T_INT(json_parse(b.p, b.n, &d, &e), 0);
		T_TRUE(json_root(d)->type == JSON_DOUBLE && json_root(d)->number == v[i]);
	}
}

static void depth(void)
{
	for (unsigned n = JSON_DEPTH_MAX; n <= JSON_DEPTH_MAX + 1; n++) {
		AUTO_BUF b = BUF_INIT(1000);

		buf_add_fill(&b, '[', n);
		buf_add_fill(&b, ']', n);
		T_INT(accepts(b.p, b.n), n == JSON_DEPTH_MAX);
	}
}

static void size(void)
{
	struct err e = { 0 };
	struct json_doc *d = NULL;

	/* a text that is too long is refused before it is read */
	T_INT(json_parse("1", (size_t)JSON_TEXT_MAX + 1, &d, &e), -1);
	T_INT(e.code, ERR_LIMIT);
}

/* In a large object json_parse() finds duplicates by sorting, but the members must keep their
 * order. */
static void many_members(void)
{
	AUTO_BUF b = BUF_INIT(1 << 20);
	AUTO_JSON d = NULL;
	struct err e = { 0 };
	char key[16];

	buf_add_char(&b, '{');
	for (int i = 0; i < 5000; i++)
		buf_addf(&b, "%s\"k%d\":%d", i ? "," : "", i * 7919 % 5000, i);
	buf_add_char(&b, '}');
	T_INT(json_parse(b.p, b.n, &d, &e), 0);
	T_INT(json_root(d)->object.n, 5000);
	for (int i = 0; i < 5000; i += 111) {
		snprintf(key, sizeof(key), "k%d", i * 7919 % 5000);
		T_INT(json_get_int(json_root(d), key, -1), i);
		T_STR(json_root(d)->object.member[i].key.p, key);
	}
	b.n--;
	buf_add_str(&b, ",\"k77\":0}");
	T_TRUE(!accepts(b.p, b.n));
}

static void getters(void)
{
	static const char text[] = "{\"s\":\"x\",\"i\":5,\"b\":true,\"n\":null,\"d\":1.5}";
	AUTO_JSON d = NULL;
	struct err e = { 0 };
	const struct json_value *v;

	T_INT(json_parse(text, sizeof(text) - 1, &d, &e), 0);
	v = json_root(d);
	T_STR(json_get_str(v, "s", "?"), "x");
	T_STR(json_get_str(v, "i", "?"), "?");
	T_STR(json_get_str(v, "n", "?"), "?");
	T_INT(json_get_int(v, "i", 9), 5);
	T_INT(json_get_int(v, "d", 9), 9);
	T_INT(json_get_bool(v, "b", false), true);
	T_INT(json_get_bool(v, "absent", true), true);
	T_TRUE(json_get(json_get(v, "s"), "x") == NULL);
	T_TRUE(json_get(NULL, "x") == NULL);
}

static void writing(void)
{
	AUTO_BUF b = BUF_INIT(1000);
	struct json_writer w;

	json_writer_init(&w, &b, 2);
	json_begin_object(&w);
	json_key_str(&w, "name", "a\"b");
	json_key_str(&w, "none", NULL);
	json_key(&w, "list");
	json_begin_array(&w);
	json_uint(&w, UINT64_MAX);
	json_double(&w, NAN);
	json_begin_object(&w);
	json_end_object(&w);
	json_end_array(&w);
	json_key(&w, "empty");
	json_begin_array(&w);
	json_end_array(&w);
	json_key_int(&w, "i", INT64_MIN);
	json_key_bool(&w, "b", true);
	json_key_null(&w, "n");
	json_end_object(&w);
	T_STR(buf_str(&b), "{\n"
			   "  \"name\": \"a\\\"b\",\n"
			   "  \"none\": null,\n"
			   "  \"list\": [\n"
			   "    18446744073709551615,\n"
			   "    null,\n"
			   "    {}\n"
			   "  ],\n"
			   "  \"empty\": [],\n"
			   "  \"i\": -9223372036854775808,\n"
			   "  \"b\": true,\n"
			   "  \"n\": null\n"
			   "}");
}

static void writing_bytes(void)
{
	AUTO_BUF b = BUF_INIT(1000);
	struct json_writer w;

	json_writer_init(&w, &b, 0);
	json_strn(&w,
		  "a\xff"
		  "b\xc3\0\xed\xa0\x80\xe2\x82",
		  10);
	T_STR(buf_str(&b), "\"a\xef\xbf\xbd"
			   "b\xef\xbf\xbd\\u0000\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
			   "\xef\xbf\xbd\xef\xbf\xbd\"");
	T_TRUE(accepts(b.p, b.n));
}

struct params {
	const char *cmd;
	int64_t timeout_ms;
	bool tty;
	const struct json_value *env;
};

static const struct json_field fields[] = {
	FIELD_STR(struct params, cmd, JSON_REQUIRED),
	FIELD_INT(struct params, timeout_ms, JSON_OPTIONAL, 1, 9),
	FIELD_BOOL(struct params, tty, JSON_OPTIONAL),
	FIELD_VALUE(struct params, env, JSON_OPTIONAL),
};

/* Decodes TEXT into *RET. Returns the error message, or "" if there is no error. */
static const char *decode(const char *text, const char *path, bool strict, struct params *ret)
{
	static struct err e;
	static struct json_doc *d;

	json_free(d); /* the strings of the previous document are no longer used */
	d = NULL;
	e = (struct err){ 0 };
	*ret = (struct params){ .timeout_ms = 4, .cmd = "unset" };
	if (json_parse(text, strlen(text), &d, &e) == 0)
		IGNORE(json_decode(json_root(d), path, fields, ARRAY_SIZE(fields), strict, ret,
				   &e));
	return e.msg;
}

static void decoding(void)
{
	struct params p;

	T_STR(decode("{\"cmd\":\"ls\",\"timeout_ms\":9,\"tty\":true,\"env\":[1],\"x\":1}", "p",
		     false, &p),
	      "");
	T_STR(p.cmd, "ls");
	T_INT(p.timeout_ms, 9);
	T_INT(p.tty, true);
	T_INT(p.env->array.n, 1);
	T_STR(decode("{\"cmd\":\"ls\",\"timeout_ms\":null,\"env\":null}", "p", true, &p), "");
	T_INT(p.timeout_ms, 4);
	T_TRUE(p.env == NULL);
	T_STR(decode("{\"timeout_ms\":3}", "p", false, &p), "p.cmd: missing");
	T_STR(decode("{\"timeout_ms\":3}", "", false, &p), "cmd: missing");
	T_STR(decode("{\"cmd\":null}", "p", false, &p), "p.cmd: expected string, got null");
	T_STR(decode("{\"cmd\":\"a\\u0000\"}", "p", false, &p), "p.cmd: contains a NUL character");
	T_STR(decode("{\"cmd\":\"a\",\"timeout_ms\":\"5\"}", "p", false, &p),
	      "p.timeout_ms: expected integer 1..9, got string");
	T_STR(p.cmd, "unset");
	T_STR(decode("{\"cmd\":\"a\",\"timeout_ms\":10}", "p", false, &p),
	      "p.timeout_ms: expected integer 1..9, got 10");
	T_STR(decode("{\"cmd\":\"a\",\"tty\":1}", "p", false, &p),
	      "p.tty: expected boolean, got integer");
	T_STR(decode("{\"cmd\":\"a\",\"x\":1}", "p", true, &p), "p.x: unknown member");
	T_STR(decode("[]", "p", true, &p), "p: expected object, got array");
	T_STR(decode("1.5", "", true, &p), "expected object, got number");
}

/* Python's json module writes and reads lone surrogates; only lenient parsing accepts them. */
static void lenient_surrogates(void)
{
	T_STR(lenient("\"\\ud83d\\uDE00\""), "\"\xf0\x9f\x98\x80\"");
	T_STR(lenient("\"\\ud800\""), "\"\xef\xbf\xbd\"");
	T_STR(lenient("\"a\\udc00b\""), "\"a\xef\xbf\xbd"
					"b\"");
	T_STR(lenient("\"\\ud800x\""), "\"\xef\xbf\xbdx\"");
	T_STR(lenient("\"\\ud800\\n\""), "\"\xef\xbf\xbd\\n\"");
	T_STR(lenient("\"\\ud800\\u0041\""), "\"\xef\xbf\xbd"
					     "A\"");
	T_STR(lenient("\"\\ud800\\ud83d\\ude00\""), "\"\xef\xbf\xbd\xf0\x9f\x98\x80\"");
	T_STR(lenient("\"\\udc00\\ud800\""), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
	T_STR(lenient("{\"\\ud800\":1}"), "{\"\xef\xbf\xbd\":1}");
	/* lenient parsing also refuses incomplete escapes and bytes that are not UTF-8 */
	T_STR(lenient("\"\\ud800\\u12\""), "line 1 column 8: bad \\u escape");
	T_STR(lenient("\"\\ud8\""), "line 1 column 2: bad \\u escape");
	T_STR(lenient("\"\xed\xa0\x80\""), "line 1 column 1: string is not UTF-8");
	T_STR(lenient("[NaN]"), "line 1 column 2: expected a value");
	T_STR(lenient("[1e999]"), "line 1 column 2: number out of range");
}

static void lenient_duplicates(void)
{
	AUTO_BUF text = BUF_INIT(1 << 20), want = BUF_INIT(1 << 20), got = BUF_INIT(1 << 20);
	AUTO_JSON d = NULL;
	struct err e = { 0 };
	struct json_writer w;

	T_STR(lenient("{\"a\":1,\"b\":2,\"a\":3}"), "{\"a\":3,\"b\":2}");
	T_STR(lenient("{\"a\":1,\"a\":[2],\"a\":{\"a\":4,\"a\":5}}"), "{\"a\":{\"a\":5}}");
	T_STR(lenient("{\"\":1,\"\":2}"), "{\"\":2}");
	T_STR(lenient("[{\"x\":1,\"x\":2,\"y\":3},{},4]"), "[{\"x\":2,\"y\":3},{},4]");
	/* among many members duplicates are found by sorting */
	buf_add_char(&text, '{');
	for (unsigned i = 0; i < 300; i++)
		buf_addf(&text, "%s\"k%u\":%u", i ? "," : "", i % 100, i);
	buf_add_char(&text, '}');
	buf_add_char(&want, '{');
	for (unsigned i = 0; i < 100; i++)
		buf_addf(&want, "%s\"k%u\":%u", i ? "," : "", i, i + 200);
	buf_add_char(&want, '}');
	T_INT(json_parse_lenient(text.p, text.n, &d, &e), 0);
	json_writer_init(&w, &got, 0);
	json_value_copy(&w, json_root(d));
	T_STR(buf_str(&got), buf_str(&want));
}

static enum err_code lenient_code(const struct buf *b)
{
	AUTO_JSON d = NULL;
	struct err e = { 0 };

	return json_parse_lenient(b->p, b->n, &d, &e) < 0 ? e.code : ERR_NONE;
}

/* Values are counted before memory is allocated: 16 MiB of small values are refused. */
static void lenient_values(void)
{
	enum { BYTES = 16 << 20 };
	AUTO_BUF b = BUF_INIT(BYTES + 16);

	buf_add_fill(&b, '[', BYTES);
	T_INT(lenient_code(&b), ERR_LIMIT);
	buf_clear(&b);
	buf_add_fill(&b, '[', JSON_DEPTH_MAX + 1);
	T_INT(lenient_code(&b), ERR_INVALID);
	buf_clear(&b);
	buf_add_str(&b, "[0");
	while (b.n < BYTES)
		buf_add_str(&b, ",0");
	buf_add_char(&b, ']');
	T_INT(lenient_code(&b), ERR_LIMIT);
	/* JSON_LENIENT_VALUES_MAX values are accepted, and one more value is refused. An empty
	 * array or object counts as one value. */
	buf_clear(&b);
	buf_add_str(&b, "[[ ]");
	for (unsigned i = 2; i < JSON_LENIENT_VALUES_MAX; i++)
		buf_add_str(&b, i % 2 ? ",{}" : ",[\n]");
	buf_add_char(&b, ']');
	T_INT(lenient_code(&b), ERR_NONE);
	buf_cut(&b, b.n - 1);
	buf_add_str(&b, ",0]");
	T_INT(lenient_code(&b), ERR_LIMIT);
}

int main(void)
{
	T_RUN(accepted);
	T_RUN(refused);
	T_RUN(positions);
	T_RUN(numbers);
	T_RUN(doubles);
	T_RUN(depth);
	T_RUN(size);
	T_RUN(many_members);
	T_RUN(getters);
	T_RUN(writing);
	T_RUN(writing_bytes);
	T_RUN(decoding);
	T_RUN(lenient_surrogates);
	T_RUN(lenient_duplicates);
	T_RUN(lenient_values);
	return t_end();
}
