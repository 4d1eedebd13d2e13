#include "skills/skill_md.h"

#include <stdlib.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/unicode.h"
#include "yaml/yaml.h"

#define FENCE "---"

void skill_md_done(struct skill_md *m)
{
	free(m->name);
	free(m->display_name);
	free(m->description);
	*m = (struct skill_md){ 0 };
}

/* --- reading --------------------------------------------------------------------------------- */

static bool is_fence(struct str line)
{
	return str_eq(unicode_trim(line), FENCE);
}

/* Finds the YAML in TEXT and the instructions after it. Returns false if TEXT has no front
 * matter. */
static bool split(struct str text, struct str *ret_yaml, struct str *ret_rest)
{
	struct str rest = text;
	const char *begin;

	if (text.n < strlen(FENCE) || memcmp(text.p, FENCE, strlen(FENCE)) != 0 ||
	    !is_fence(unicode_take_line(&rest)))
		return false;
	begin = rest.p;
	while (rest.n) {
		const char *line = rest.p;

		if (!is_fence(unicode_take_line(&rest)))
			continue;
		for (; rest.n && rest.p[0] == '\n'; rest.n--)
			rest.p++;
		*ret_yaml = (struct str){ begin, (size_t)(line - begin) };
		*ret_rest = rest;
		return true;
	}
	return false;
}

static char *field(const struct json_value *v, const char *key)
{
	const char *text = json_get_str(v, key, "");
	struct str s = unicode_trim(str_of(text));

	return s.n ? xstrndup(s.p, s.n) : NULL;
}

int skill_md_read(struct str text, struct skill_md *ret, struct err *e)
{
	AUTO_BUF json = BUF_INIT(YAML_JSON_MAX_BYTES);
	AUTO_JSON doc = NULL;
	struct str yaml, rest;

	*ret = (struct skill_md){ .instructions = text };
	if (!split(text, &yaml, &rest))
		return 0;
	if (yaml_to_json(yaml.p, yaml.n, YAML_WORDS, &json, e) < 0 ||
	    json_parse(buf_str(&json), json.n, &doc, e) < 0)
		return -1;
	ret->instructions = rest;
	ret->name = field(json_root(doc), "name");
	ret->display_name = field(json_root(doc), "display_name");
	ret->description = field(json_root(doc), "description");
	return 0;
}

/* --- writing --------------------------------------------------------------------------------- */

/* Returns true if YAML allows the character C in a scalar and no reader takes C for the end of a
 * line. */
static bool is_printable(uint32_t c)
{
	return (c >= 0x20 && c <= 0x7e) ||
	       (c >= 0xa0 && c <= 0xfffd && c != 0x2028 && c != 0x2029 && c != 0xfeff) ||
	       c >= 0x10000;
}

static bool all_printable(struct str s)
{
	while (s.n)
		if (!is_printable(unicode_take(&s)))
			return false;
	return true;
}

/* Returns true if a reader of YAML 1.1 could take S for something other than a string: a number, a
 * date, a boolean, null, or one of the special values `=` and `<<`. */
static bool has_other_meaning(const char *s)
{
	static const char *const words[] = { "null", "~",   "true", "false", "yes", "no",
					     "on",   "off", "y",    "n",     "=",   "<<" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasecmp(s, words[i]) == 0)
			return true;
	return strchr("0123456789+-.", s[0]) &&
	       s[strspn(s, "0123456789+-._:,eExXoObBaAcCdDfFinINtTzZ ")] == '\0';
}

/* Returns true if S needs no quotes as the value of a key. */
static bool is_plain(const char *s)
{
	size_t n = strlen(s);

	return !strchr(" -?:,[]{}#&*!|>'\"%@`", s[0]) && s[n - 1] != ' ' && s[n - 1] != ':' &&
	       !strstr(s, ": ") && !strstr(s, " #") && !has_other_meaning(s);
}

static void write_single_quoted(struct buf *out, const char *s)
{
	buf_add_char(out, '\'');
	for (; *s; s++) {
		if (*s == '\'')
			buf_add_char(out, '\'');
		buf_add_char(out, *s);
	}
	buf_add_char(out, '\'');
}

static void write_double_quoted(struct buf *out, const char *s)
{
	struct str rest = str_of(s);

	buf_add_char(out, '"');
	while (rest.n) {
		const char *at = rest.p;
		uint32_t c = unicode_take(&rest);

		if (c == '"' || c == '\\')
			buf_addf(out, "\\%c", (char)c);
		else if (c == '\n')
			buf_add_str(out, "\\n");
		else if (c == '\t')
			buf_add_str(out, "\\t");
		else if (is_printable(c))
			buf_add(out, at, (size_t)(rest.p - at));
		else
			buf_addf(out, c < 0x100 ? "\\x%02X" : "\\u%04X", c);
	}
	buf_add_char(out, '"');
}

static void write_field(struct buf *out, const char *key, const char *value)
{
	struct str s = value ? str_of(value) : STR("");

	if (unicode_trim(s).n == 0)
		return;
	buf_addf(out, "%s: ", key);
	if (!all_printable(s))
		write_double_quoted(out, value);
	else if (is_plain(value))
		buf_add_str(out, value);
	else
		write_single_quoted(out, value);
	buf_add_char(out, '\n');
}

void skill_md_write(struct buf *out, const char *name, const char *display_name,
		    const char *description, struct str instructions)
{
	size_t begin = out->n, empty;

	buf_add_str(out, FENCE "\n");
	empty = out->n;
	write_field(out, "name", name);
	write_field(out, "display_name", display_name);
	write_field(out, "description", description);
	if (out->n == empty)
		buf_cut(out, begin);
	else
		buf_add_str(out, FENCE "\n\n");
	buf_add(out, instructions.p, instructions.n);
}
