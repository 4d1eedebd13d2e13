/*
 * libyaml parses YAML into events. We walk the events once, recursively within YAML_DEPTH_MAX, and
 * write JSON on the way. We keep only the keys of the enclosing mappings, to find duplicates. When
 * a mapping ends, we sort its keys: to compare all pairs of keys would take hours for a large file.
 */
#include "yaml/yaml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"

struct converter {
	yaml_parser_t parser;
	struct json_writer w;
	enum yaml_scalars scalars;
	unsigned depth, nodes;
	struct err *e;
};

static int fail(struct converter *c, yaml_mark_t at, enum err_code code, const char *why)
{
	return err_set(c->e, code, "%zu:%zu: %s", at.line + 1, at.column + 1, why);
}

static int refuse(struct converter *c, const yaml_event_t *ev, const char *why)
{
	return fail(c, ev->start_mark, ERR_INVALID, why);
}

static int next_event(struct converter *c, yaml_event_t *ev)
{
	if (yaml_parser_parse(&c->parser, ev))
		return 0;
	return fail(c, c->parser.problem_mark, ERR_INVALID,
		    c->parser.problem ? c->parser.problem : "out of memory");
}

/* --- scalars ------------------------------------------------------------------------------- */

static bool is_word(const char *s, const char *const *words)
{
	for (size_t i = 0; words[i]; i++)
		if (strcasecmp(s, words[i]) == 0)
			return true;
	return false;
}

/* Returns true for a JSON number: no plus sign, no leading zeros, digits around the point. */
static bool is_json_number(const char *s)
{
	size_t n;

	s += *s == '-';
	n = strspn(s, "0123456789");
	if (n == 0 || (n > 1 && *s == '0'))
		return false;
	s += n;
	if (*s == '.') {
		n = strspn(++s, "0123456789");
		if (n == 0)
			return false;
		s += n;
	}
	if (*s == 'e' || *s == 'E') {
		s++;
		s += *s == '+' || *s == '-';
		n = strspn(s, "0123456789");
		if (n == 0)
			return false;
		s += n;
	}
	return *s == '\0';
}

/* Returns true for text that one YAML reader takes for a number, and another reader for a string or
 * a different number. */
static bool is_doubtful_number(const char *s)
{
	static const char *const specials[] = { ".inf", "-.inf", "+.inf", ".nan", NULL };
	size_t n;

	if (is_word(s, specials))
		return true;
	s += *s == '-' || *s == '+';
	if (s[0] == '0' && s[1] && strchr("xXoObB", s[1]) &&
	    s[2 + strspn(s + 2, "0123456789abcdefABCDEF_")] == '\0')
		return true;
	n = strspn(s, "0123456789_");
	if (n == 0 && !(s[0] == '.' && s[1] >= '0' && s[1] <= '9'))
		return false;
	s += n;
	if (*s == '.')
		s += 1 + strspn(s + 1, "0123456789_");
	return *s == '\0';
}

/* Writes 64-bit integers exactly, other numbers as the nearest double. */
static int write_number(struct converter *c, const yaml_event_t *ev, const char *s)
{
	bool negative = *s == '-';
	uint64_t v;
	double d;

	if (parse_u64(s + negative, 0, INT64_MAX, &v) == 0) {
		json_int(&c->w, negative ? -(int64_t)v : (int64_t)v);
		return 0;
	}
	d = strtod(s, NULL);
	if (isinf(d))
		return refuse(c, ev, "the number is too large");
	json_double(&c->w, d);
	return 0;
}

static int plain_scalar(struct converter *c, const yaml_event_t *ev)
{
	static const char *const nulls[] = { "", "~", "null", NULL };
	static const char *const old_bools[] = { "yes", "no", "on", "off", "y", "n", NULL };
	const char *s = (const char *)ev->data.scalar.value;

	if (is_word(s, nulls))
		json_null(&c->w);
	else if (c->scalars == YAML_WORDS)
		json_strn(&c->w, s, ev->data.scalar.length);
	else if (strcmp(s, "true") == 0 || strcmp(s, "false") == 0)
		json_bool(&c->w, *s == 't');
	else if (is_json_number(s))
		return write_number(c, ev, s);
	else if (is_word(s, old_bools) || strcasecmp(s, "true") == 0 || strcasecmp(s, "false") == 0)
		return refuse(c, ev, "write true or false, or quote the word");
	else if (is_doubtful_number(s))
		return refuse(c, ev, "quote this: not every reader takes it for the same number");
	else
		json_strn(&c->w, s, ev->data.scalar.length);
	return 0;
}

/* Makes the checks that every scalar must pass, also a key. */
static int check_scalar(struct converter *c, const yaml_event_t *ev)
{
	if (ev->data.scalar.anchor)
		return refuse(c, ev, "anchors are not allowed");
	if (ev->data.scalar.tag)
		return refuse(c, ev, "tags are not allowed");
	if (memchr(ev->data.scalar.value, 0, ev->data.scalar.length))
		return refuse(c, ev, "NUL characters are not allowed");
	return 0;
}

/* --- collections --------------------------------------------------------------------------- */

static int write_node(struct converter *c, const yaml_event_t *ev);

struct key {
	char *text;
	yaml_mark_t at;
};

struct keys {
	struct key *key;
	size_t n, room;
};

static void keys_done(struct keys *k)
{
	for (size_t i = 0; i < k->n; i++)
		free(k->key[i].text);
	free(k->key);
}

static void keys_add(struct keys *k, const char *text, yaml_mark_t at)
{
	if (k->n == k->room) {
		k->room = k->room ? 2 * k->room : 8;
		k->key = xreallocarray(k->key, k->room, sizeof(*k->key));
	}
	k->key[k->n++] = (struct key){ xstrdup(text), at };
}

static int by_text_then_place(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	int r = strcmp(x->text, y->text);

	return r ? r : (x->at.index > y->at.index) - (x->at.index < y->at.index);
}

static int check_unique(struct converter *c, struct keys *k)
{
	if (k->n > 1)
		qsort(k->key, k->n, sizeof(*k->key), by_text_then_place);
	for (size_t i = 1; i < k->n; i++)
		if (strcmp(k->key[i - 1].text, k->key[i].text) == 0)
			return err_set(c->e, ERR_INVALID, "%zu:%zu: key '%.64s' is given twice",
				       k->key[i].at.line + 1, k->key[i].at.column + 1,
				       k->key[i].text);
	return 0;
}

static int write_key(struct converter *c, const yaml_event_t *ev, struct keys *k)
{
	const char *s;

	if (ev->type == YAML_ALIAS_EVENT)
		return refuse(c, ev, "aliases are not allowed");
	if (ev->type != YAML_SCALAR_EVENT)
		return refuse(c, ev, "a key must be a word or a quoted string");
	if (check_scalar(c, ev) < 0)
		return -1;
	s = (const char *)ev->data.scalar.value;
	if (ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strcmp(s, "<<") == 0)
		return refuse(c, ev, "merge keys are not allowed");
	keys_add(k, s, ev->start_mark);
	json_key(&c->w, s);
	return 0;
}

static int mapping_items(struct converter *c, struct keys *k)
{
	for (bool key = true;; key = !key) {
		yaml_event_t ev;
		int r;

		if (next_event(c, &ev) < 0)
			return -1;
		if (ev.type == YAML_MAPPING_END_EVENT) {
			yaml_event_delete(&ev);
			return check_unique(c, k);
		}
		r = key ? write_key(c, &ev, k) : write_node(c, &ev);
		yaml_event_delete(&ev);
		if (r < 0)
			return -1;
	}
}

static int write_mapping(struct converter *c, const yaml_event_t *ev)
{
	struct keys k = { 0 };
	int r;

	if (ev->data.mapping_start.anchor || ev->data.mapping_start.tag)
		return refuse(c, ev, "anchors and tags are not allowed");
	json_begin_object(&c->w);
	r = mapping_items(c, &k);
	keys_done(&k);
	if (r == 0)
		json_end_object(&c->w);
	return r;
}

static int write_sequence(struct converter *c, const yaml_event_t *ev)
{
	if (ev->data.sequence_start.anchor || ev->data.sequence_start.tag)
		return refuse(c, ev, "anchors and tags are not allowed");
	json_begin_array(&c->w);
	for (;;) {
		yaml_event_t item;
		int r;

		if (next_event(c, &item) < 0)
			return -1;
		if (item.type == YAML_SEQUENCE_END_EVENT) {
			yaml_event_delete(&item);
			json_end_array(&c->w);
			return 0;
		}
		r = write_node(c, &item);
		yaml_event_delete(&item);
		if (r < 0)
			return -1;
	}
}

static int write_node(struct converter *c, const yaml_event_t *ev)
{
	int r;

	if (++c->nodes > YAML_NODES_MAX)
		return fail(c, ev->start_mark, ERR_LIMIT, "too many values");
	if (c->depth >= YAML_DEPTH_MAX)
		return fail(c, ev->start_mark, ERR_LIMIT, "nested too deeply");
	c->depth++;
	switch (ev->type) {
	case YAML_SCALAR_EVENT:
		r = check_scalar(c, ev);
		if (r == 0 && ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
			r = plain_scalar(c, ev);
		else if (r == 0)
			json_strn(&c->w, (const char *)ev->data.scalar.value,
				  ev->data.scalar.length);
		break;
	case YAML_MAPPING_START_EVENT:
		r = write_mapping(c, ev);
		break;
	case YAML_SEQUENCE_START_EVENT:
		r = write_sequence(c, ev);
		break;
	default:
		r = refuse(c, ev, "aliases are not allowed");
	}
	c->depth--;
	return r;
}

/* --- the stream ---------------------------------------------------------------------------- */

static int check_directives(struct converter *c, const yaml_event_t *ev)
{
	if (ev->data.document_start.version_directive ||
	    ev->data.document_start.tag_directives.start !=
		    ev->data.document_start.tag_directives.end)
		return refuse(c, ev, "directives are not allowed");
	return 0;
}

/* Converts the whole stream, which has one document or none. */
static int write_stream(struct converter *c)
{
	bool seen = false;

	for (;;) {
		yaml_event_t ev;
		bool last;
		int r = 0;

		if (next_event(c, &ev) < 0)
			return -1;
		last = ev.type == YAML_STREAM_END_EVENT;
		if (ev.type == YAML_DOCUMENT_START_EVENT) {
			r = seen ? refuse(c, &ev, "only one document is allowed")
				 : check_directives(c, &ev);
			seen = true;
		} else if (ev.type != YAML_STREAM_START_EVENT &&
			   ev.type != YAML_DOCUMENT_END_EVENT && !last) {
			r = write_node(c, &ev);
		}
		yaml_event_delete(&ev);
		if (r < 0)
			return -1;
		if (last)
			break;
	}
	if (!seen)
		json_null(&c->w);
	return 0;
}

int yaml_to_json(const char *text, size_t n, enum yaml_scalars scalars, struct buf *out,
		 struct err *e)
{
	struct converter c = { .scalars = scalars, .e = e };
	int r;

	if (n > YAML_TEXT_MAX_BYTES)
		return err_set(e, ERR_LIMIT, "1:1: the text is larger than %u bytes",
			       YAML_TEXT_MAX_BYTES);
	if (!yaml_parser_initialize(&c.parser))
		return err_set(e, ERR_LIMIT, "1:1: out of memory");
	yaml_parser_set_encoding(&c.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&c.parser, (const unsigned char *)text, n);
	json_writer_init(&c.w, out, 0);
	r = write_stream(&c);
	yaml_parser_delete(&c.parser);
	if (r == 0 && buf_failed(out))
		return err_set(e, ERR_LIMIT, "1:1: too large as JSON");
	return r;
}
