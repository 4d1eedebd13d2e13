#include "yaml/yaml.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "t.h"

static struct err e;

/* Returns the JSON, or the message in angle brackets. */
static char *read_as(enum yaml_scalars how, const char *text, size_t n)
{
	AUTO_BUF out = BUF_INIT(YAML_JSON_MAX_BYTES);

	if (yaml_to_json(text, n, how, &out, &e) < 0)
		return xasprintf("<%s>", e.msg);
	return buf_take(&out);
}

static char *json_of(const char *text, size_t n)
{
	return read_as(YAML_TYPED, text, n);
}

#define GIVES(text, want)                                           \
	do {                                                        \
		AUTO_FREE char *got_ = json_of(text, strlen(text)); \
		T_STR(got_, want);                                  \
	} while (0)

static void documents(void)
{
	GIVES("", "null");
	GIVES("# only a comment\n", "null");
	GIVES("---\n", "null");
	GIVES("image: python\ncpus: 2\nenv:\n  A: \"1\"\n  B: two words\n",
	      "{\"image\":\"python\",\"cpus\":2,\"env\":{\"A\":\"1\",\"B\":\"two words\"}}");
	GIVES("- a\n- [b, {c: d}]\n- |\n  text\n  more\n",
	      "[\"a\",[\"b\",{\"c\":\"d\"}],\"text\\nmore\\n\"]");
	GIVES("{\"json\": [1, null, true]}", "{\"json\":[1,null,true]}");
	GIVES("a: \"\\u00e9\\n\"\n", "{\"a\":\"\xc3\xa9\\n\"}");
	GIVES("---\na: b\n...\n", "{\"a\":\"b\"}");
}

static void scalars(void)
{
	GIVES("[~, null, NULL, , true, false]", "<1:17: did not find expected node content>");
	GIVES("[~, null, NULL, true, false]", "[null,null,null,true,false]");
	GIVES("[0, -7, 1.5, 1e3, 9223372036854775807]", "[0,-7,1.5,1000.0,9223372036854775807]");
	GIVES("[8000:8000, 2026-01-02, 1.2.3.4, v1, 0.0.0.0, -, --x]",
	      "[\"8000:8000\",\"2026-01-02\",\"1.2.3.4\",\"v1\",\"0.0.0.0\",\"-\",\"--x\"]");
	GIVES("['yes', \"0755\", 'null', '1']", "[\"yes\",\"0755\",\"null\",\"1\"]");
	GIVES("1e999", "<1:1: the number is too large>");
	GIVES("a: yes", "<1:4: write true or false, or quote the word>");
	GIVES("a: Off", "<1:4: write true or false, or quote the word>");
	GIVES("a: True", "<1:4: write true or false, or quote the word>");
	GIVES("\na:\n  - 0755", "<3:5: quote this: not every reader takes it for the same number>");
	GIVES("0x1F", "<1:1: quote this: not every reader takes it for the same number>");
	GIVES("0o17", "<1:1: quote this: not every reader takes it for the same number>");
	GIVES("1_000", "<1:1: quote this: not every reader takes it for the same number>");
	GIVES("+5", "<1:1: quote this: not every reader takes it for the same number>");
	GIVES(".5", "<1:1: quote this: not every reader takes it for the same number>");
	GIVES(".inf", "<1:1: quote this: not every reader takes it for the same number>");
}

static void words(void)
{
	static const char text[] = "a: yes\nb: 0755\nc: 1.5\nd: true\ne: ~\nf: null\ng:\n"
				   "h: [0x1f, 'x', ~]\ni: 2026-01-02\n";
	AUTO_FREE char *got = read_as(YAML_WORDS, text, strlen(text));
	AUTO_FREE char *anchor = read_as(YAML_WORDS, "a: &x 1", 7);

	T_STR(got, "{\"a\":\"yes\",\"b\":\"0755\",\"c\":\"1.5\",\"d\":\"true\",\"e\":null,"
		   "\"f\":null,\"g\":null,\"h\":[\"0x1f\",\"x\",null],\"i\":\"2026-01-02\"}");
	T_STR(anchor, "<1:4: anchors are not allowed>");
}

static void surprises(void)
{
	GIVES("a: &x 1", "<1:4: anchors are not allowed>");
	GIVES("a: &x [1]", "<1:4: anchors and tags are not allowed>");
	GIVES("a: &x {b: 1}", "<1:4: anchors and tags are not allowed>");
	GIVES("a: *x", "<1:4: aliases are not allowed>");
	GIVES("*x : 1", "<1:1: aliases are not allowed>");
	GIVES("a: !!str 1", "<1:4: tags are not allowed>");
	GIVES("a: ! 1", "<1:4: tags are not allowed>");
	GIVES("!foo {}", "<1:1: anchors and tags are not allowed>");
	GIVES("<<: {a: 1}", "<1:1: merge keys are not allowed>");
	GIVES("\"<<\": 1", "{\"<<\":1}");
	GIVES("a: 1\nb: 2\n'a': 3\n", "<3:1: key 'a' is given twice>");
	GIVES("x: {a: 1, a: 1}", "<1:11: key 'a' is given twice>");
	GIVES("[a]: 1", "<1:1: a key must be a word or a quoted string>");
	GIVES("a: 1\n---\nb: 2\n", "<2:1: only one document is allowed>");
	GIVES("%YAML 1.1\n---\na: 1\n", "<1:1: directives are not allowed>");
	GIVES("%TAG ! x\n---\na: 1\n", "<1:1: directives are not allowed>");
	GIVES("a: \"\\0\"", "<1:4: NUL characters are not allowed>");
	GIVES("a: [1", "<2:1: did not find expected ',' or ']'>");
	GIVES("\ta: 1", "<1:1: found character that cannot start any token>");
	GIVES("a: \xff", "<1:1: invalid leading UTF-8 octet>");
}

static void limits(void)
{
	AUTO_FREE char *deep = xcalloc(1, 100000 + 1);
	AUTO_FREE char *large = xcalloc(1, YAML_TEXT_MAX_BYTES + 2);
	AUTO_FREE char *got = NULL;

	memset(deep, '[', 100000);
	got = json_of(deep, 100000);
	T_INT(e.code, ERR_LIMIT);
	T_STR(got, "<1:33: nested too deeply>");
	memset(large, ' ', YAML_TEXT_MAX_BYTES + 1);
	free(json_of(large, YAML_TEXT_MAX_BYTES + 1));
	T_INT(e.code, ERR_LIMIT);
	for (size_t i = 0; i < 200000; i++)
		memcpy(large + 2 * i, "~,", 2);
	large[0] = '[';
	large[1] = ' ';
	free(json_of(large, 400000));
	T_INT(e.code, ERR_LIMIT);
}

/* The parser sorts the keys of a mapping to find duplicates. If it compared every key with every
 * other, this test would take a minute. */
static void many_keys(void)
{
	AUTO_BUF b = BUF_INIT(YAML_TEXT_MAX_BYTES);
	AUTO_FREE char *got = NULL;

	for (unsigned i = 0; i < 90000; i++)
		buf_addf(&b, "k%05u: 1\n", i);
	buf_add_str(&b, "k00000: 1\n");
	got = json_of(b.p, b.n);
	T_STR(got, "<90001:1: key 'k00000' is given twice>");
}

int main(void)
{
	T_RUN(documents);
	T_RUN(scalars);
	T_RUN(words);
	T_RUN(surprises);
	T_RUN(limits);
	T_RUN(many_keys);
	return t_end();
}
