#include "skills/skill_md.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "t.h"

/* Returns all fields in one line: name|display_name|description|instructions, `-` for a missing
 * field; or the error. */
static char *fields_of(const char *text, size_t n)
{
	AUTO_SKILL_MD m = { 0 };
	struct err e;

	if (skill_md_read((struct str){ text, n }, &m, &e) < 0)
		return xasprintf("<%s>", e.msg);
	return xasprintf("%s|%s|%s|%.*s", m.name ? m.name : "-",
			 m.display_name ? m.display_name : "-", m.description ? m.description : "-",
			 (int)m.instructions.n, m.instructions.p);
}

#define READS(text, want)                                             \
	do {                                                          \
		AUTO_FREE char *got_ = fields_of(text, strlen(text)); \
		T_STR(got_, want);                                    \
	} while (0)

static void fences(void)
{
	READS("", "-|-|-|");
	READS("just text\n", "-|-|-|just text\n");
	READS("---\nname: a\n---\nbody", "a|-|-|body");
	READS("---\nname: a\n---\n\n\nbody\n", "a|-|-|body\n");
	READS("---  \t\nname: a\n  ---\nbody", "a|-|-|body");
	READS("---\r\nname: a\r\n---\r\nbody\r\n", "a|-|-|body\r\n");
	READS("---\nname: a\n---", "a|-|-|");
	READS("---\n---\nbody", "-|-|-|body");
	/* no front matter: `---` is not closed, not alone on its line, or not at the start */
	READS("---\nname: a\nbody", "-|-|-|---\nname: a\nbody");
	READS("---name: a\n---\nbody", "-|-|-|---name: a\n---\nbody");
	READS("\n---\nname: a\n---\n", "-|-|-|\n---\nname: a\n---\n");
	READS("---\nname: a\n----\nbody", "-|-|-|---\nname: a\n----\nbody");
	/* only line feeds before the instructions are removed */
	READS("---\nname: a\n---\n \nbody", "a|-|-| \nbody");
	READS("---\nname: a\n---\nbody\n---\nmore", "a|-|-|body\n---\nmore");
}

static void fields(void)
{
	READS("---\nname: ' a '\ndisplay_name: \"B \\u00e9\"\ndescription: >\n  folded\n  over "
	      "lines\n"
	      "---\n",
	      "a|B \xc3\xa9|folded over lines|");
	READS("---\ndescription: |\n  two\n  lines\nname: n\n---\n", "n|-|two\nlines|");
	/* PyYAML folds a long text like this */
	READS("---\nname: n\ndescription: one two three\n  four five\n---\n",
	      "n|-|one two three four five|");
	READS("---\nname: 'it''s'\n---\n", "it's|-|-|");
	READS("---\nname: n # a comment\n# another\ndescription: a#b\n---\n", "n|-|a#b|");
	READS("---\nname: 123\ndisplay_name: yes\ndescription: 1.50\n---\n", "123|yes|1.50|");
	READS("---\nname: ~\ndisplay_name:\ndescription: null\n---\nx", "-|-|-|x");
	READS("---\nname: '  '\n---\nx", "-|-|-|x");
	READS("---\nname: [a, b]\ndescription: {c: d}\n---\nx", "-|-|-|x");
	READS("---\nname: n\nlicense: MIT\nallowed-tools:\n  - Bash(git:*)\n  - Read\nmetadata:\n"
	      "  version: 1.0\n  since: 2026-01-02\n  octal: 0755\n---\nx",
	      "n|-|-|x");
	READS("---\n- a\n- b\n---\nx", "-|-|-|x");
	READS("---\nword\n---\nx", "-|-|-|x");
	READS("---\n# nothing\n---\nx", "-|-|-|x");
}

static void refused(void)
{
	READS("---\nname: &a x\n---\n", "<1:7: anchors are not allowed>");
	READS("---\nname: x\nother: *a\n---\n", "<2:8: aliases are not allowed>");
	READS("---\nname: !!str x\n---\n", "<1:7: tags are not allowed>");
	READS("---\nname: x\nname: y\n---\n", "<2:1: key 'name' is given twice>");
	READS("---\nname: a: b\n---\n", "<1:8: mapping values are not allowed in this context>");
	READS("---\nname: [\n---\n", "<2:1: did not find expected node content>");
}

/* --- writing --------------------------------------------------------------------------------- */

static char *written(const char *name, const char *display_name, const char *description,
		     const char *instructions)
{
	struct buf out = BUF_INIT(1 << 20);

	skill_md_write(&out, name, display_name, description, str_of(instructions));
	return buf_take(&out);
}

#define WRITES(name, display_name, description, instructions, want)                            \
	do {                                                                                   \
		AUTO_FREE char *got_ = written(name, display_name, description, instructions); \
		T_STR(got_, want);                                                             \
	} while (0)

static void texts(void)
{
	WRITES("csv-tools", "CSV: tools", "", "Use scripts/run.py\n",
	       "---\nname: csv-tools\ndisplay_name: 'CSV: tools'\n---\n\nUse scripts/run.py\n");
	WRITES("a", NULL, "  ", "", "---\nname: a\n---\n\n");
	WRITES(NULL, "", " ", "only text", "only text");
	WRITES("\xe6\x8a\x80", "caf\xc3\xa9", "\xf0\x9f\x98\x80 #1", "",
	       "---\nname: \xe6\x8a\x80\ndisplay_name: caf\xc3\xa9\n"
	       "description: '\xf0\x9f\x98\x80 #1'\n---\n\n");
}

#define QUOTES(value, want) WRITES(NULL, NULL, value, "", "---\ndescription: " want "\n---\n\n")

static void quotes(void)
{
	QUOTES("plain text, with [brackets] & more", "plain text, with [brackets] & more");
	QUOTES("it's", "it's");
	QUOTES("'quoted'", "'''quoted'''");
	QUOTES("\"x\"", "'\"x\"'");
	QUOTES("a: b", "'a: b'");
	QUOTES("a:b", "a:b");
	QUOTES("a:", "'a:'");
	QUOTES("a #b", "'a #b'");
	QUOTES("a#b", "a#b");
	QUOTES(" a", "' a'");
	QUOTES("a ", "'a '");
	QUOTES("- a", "'- a'");
	QUOTES("*a", "'*a'");
	QUOTES("@a", "'@a'");
	QUOTES("yes", "'yes'");
	QUOTES("NULL", "'NULL'");
	QUOTES("~", "'~'");
	QUOTES("<<", "'<<'");
	QUOTES("123", "'123'");
	QUOTES("1.5e3", "'1.5e3'");
	QUOTES("0x1F", "'0x1F'");
	QUOTES("2026-01-02", "'2026-01-02'");
	QUOTES("12:30:00", "'12:30:00'");
	QUOTES(".inf", "'.inf'");
	QUOTES("3d models", "3d models");
	QUOTES("two\nlines", "\"two\\nlines\"");
	QUOTES("tab\there", "\"tab\\there\"");
	QUOTES("back\\slash", "back\\slash");
	QUOTES("a\n\"\\", "\"a\\n\\\"\\\\\"");
	QUOTES("bell\a", "\"bell\\x07\"");
	QUOTES("nel\xc2\x85x", "\"nel\\x85x\"");
	QUOTES("ls\xe2\x80\xa8x", "\"ls\\u2028x\"");
	QUOTES("bom\xef\xbb\xbfx", "\"bom\\uFEFFx\"");
	QUOTES("\xc3\xa9\n\xf0\x9f\x98\x80", "\"\xc3\xa9\\n\xf0\x9f\x98\x80\"");
}

/* Text that skill_md_write() has written must be read back unchanged. */
static void round_trips(void)
{
	static const char *const values[] = {
		"a",          "a: b",  "- a",
		"x\ny\n\nz",  "'",     "\"",
		"yes",        "0755",  "# no",
		"a\tb",       "[a",    "\x01\x02",
		"{a: b}",     "%a",    "!a",
		"&a",         "*a",    "|",
		">",          "a\\nb", "---",
		"...",        "? a",   "a ? b",
		"a,b",        "=",     "x\xe2\x80\xa9y",
		"x\xc2\xa0y", "\x7f",  "a'b\"c\nd",
	};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		AUTO_FREE char *text = written("n", values[i], values[i], "body");
		AUTO_SKILL_MD m = { 0 };
		struct err e;

		if (skill_md_read(str_of(text), &m, &e) < 0) {
			T_FAIL("%s: %s", text, e.msg);
			continue;
		}
		T_STR(m.display_name, values[i]);
		T_STR(m.description, values[i]);
		T_TRUE(str_eq(m.instructions, "body"));
	}
}

int main(void)
{
	T_RUN(fences);
	T_RUN(fields);
	T_RUN(refused);
	T_RUN(texts);
	T_RUN(quotes);
	T_RUN(round_trips);
	return t_end();
}
