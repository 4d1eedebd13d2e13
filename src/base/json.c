/*
 * One allocation holds a whole document. Its size is computed from the text before parsing.
 *
 *   struct json_doc | slots ................................................ | characters
 *                   | finished containers -> | free | <- values being read  |
 *
 * Before every value except the root there is a '[', a '{' or a ',' outside of strings. So the
 * number of these characters bounds the number of values. A bracket that is closed at once holds no
 * value and does not count. A decoded string with its terminator is never longer than the same
 * string in the text with its quotes, so the text's length bounds the characters. The values of an
 * open container are on a stack that grows down from the end of the slots. When the container
 * closes, its values move, in order, to the place behind the finished containers. Each value is
 * either on the stack or in a finished container, so the counted slots are always enough.
 *
 * JSON_DEPTH_MAX limits the recursion. After a failure everything is freed except the message.
 */
#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define SMALL_OBJECT 16 /* up to this many members, comparing all pairs is faster than sorting */

struct json_doc {
	size_t bytes; /* size of the whole allocation */
	struct json_value root;
	struct json_member slot[];
};

struct parser {
	const char *text, *at, *end;
	struct json_doc *doc;
	char *done;  /* where the next finished container goes */
	size_t top;  /* lowest slot of the stack of values being read */
	char *chars; /* where the next string goes */
	unsigned depth;
	bool lenient;
	struct err *e;
};

static int parse_value(struct parser *p, struct json_value *ret);

static int fail_at(struct parser *p, const char *at, const char *what)
{
	unsigned line = 1, column = 1;

	for (const char *s = p->text; s < at; s++) {
		if (*s == '\n') {
			line++;
			column = 1;
		} else if (((unsigned char)*s & 0xc0) != 0x80) {
			column++; /* columns are characters, as in editors, not bytes */
		}
	}
	return err_set(p->e, ERR_INVALID, "line %u column %u: %s", line, column, what);
}

static int fail(struct parser *p, const char *what)
{
	return fail_at(p, p->at, p->at == p->end ? "the text ends too early" : what);
}

static void skip_space(struct parser *p)
{
	while (p->at < p->end &&
	       (*p->at == ' ' || *p->at == '\n' || *p->at == '\r' || *p->at == '\t'))
		p->at++;
}

static bool next_is(const struct parser *p, char c)
{
	return p->at < p->end && *p->at == c;
}

static bool take(struct parser *p, char c)
{
	if (!next_is(p, c))
		return false;
	p->at++;
	return true;
}

/* --- scalars ------------------------------------------------------------------------------ */

static int parse_word(struct parser *p, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n) != 0)
		return fail_at(p, p->at, "expected a value");
	p->at += n;
	return 0;
}

static bool skip_digits(struct parser *p)
{
	const char *start = p->at;

	while (p->at < p->end && *p->at >= '0' && *p->at <= '9')
		p->at++;
	return p->at > start;
}

/* Reads the integer in TOKEN: digits after an optional minus sign. Returns false if the integer
 * does not fit into 64 bits. */
static bool fits_int64(const char *token, const char *end, int64_t *ret)
{
	bool negative = *token == '-';
	int64_t v = 0;

	for (const char *s = token + negative; s < end; s++) {
		int d = *s - '0';

		/* builds the negative number, because the negative range is larger by one */
		if (v < (INT64_MIN + d) / 10)
			return false;
		v = v * 10 - d;
	}
	if (!negative && v == INT64_MIN)
		return false;
	*ret = negative ? v : -v;
	return true;
}

static int parse_number(struct parser *p, struct json_value *ret)
{
	const char *start = p->at;
	bool integer = true;
	size_t n;

	take(p, '-');
	if (!take(p, '0') && !skip_digits(p))
		return fail(p, "expected a digit");
	if (take(p, '.')) {
		integer = false;
		if (!skip_digits(p))
			return fail(p, "expected a digit behind the point");
	}
	if (take(p, 'e') || take(p, 'E')) {
		integer = false;
		if (!take(p, '-'))
			take(p, '+');
		if (!skip_digits(p))
			return fail(p, "expected a digit in the exponent");
	}
	if (integer && fits_int64(start, p->at, &ret->integer)) {
		ret->type = JSON_INT;
		return 0;
	}
	/* strtod needs a terminator; the unused end of the characters has room for the token */
	n = (size_t)(p->at - start);
	memcpy(p->chars, start, n);
	p->chars[n] = '\0';
	ret->type = JSON_DOUBLE;
	ret->number = strtod(p->chars, NULL);
	if (isinf(ret->number))
		return fail_at(p, start, "number out of range");
	return 0;
}

/* Reads four hexadecimal digits. Returns their value, or -1 if there are other characters. */
static int hex4(struct parser *p)
{
	int v = 0;

	for (int i = 0; i < 4; i++, p->at++) {
		int c = p->at < p->end ? *p->at : 0;

		if (c >= '0' && c <= '9')
			v = v * 16 + c - '0';
		else if (c >= 'a' && c <= 'f')
			v = v * 16 + c - 'a' + 10;
		else if (c >= 'A' && c <= 'F')
			v = v * 16 + c - 'A' + 10;
		else
			return -1;
	}
	return v;
}

static void put_character(struct parser *p, int v)
{
	if (v < 0x80) {
		*p->chars++ = (char)v;
	} else if (v < 0x800) {
		*p->chars++ = (char)(0xc0 | v >> 6);
		*p->chars++ = (char)(0x80 | (v & 0x3f));
	} else if (v < 0x10000) {
		*p->chars++ = (char)(0xe0 | v >> 12);
		*p->chars++ = (char)(0x80 | (v >> 6 & 0x3f));
		*p->chars++ = (char)(0x80 | (v & 0x3f));
	} else {
		*p->chars++ = (char)(0xf0 | v >> 18);
		*p->chars++ = (char)(0x80 | (v >> 12 & 0x3f));
		*p->chars++ = (char)(0x80 | (v >> 6 & 0x3f));
		*p->chars++ = (char)(0x80 | (v & 0x3f));
	}
}

/* Reads the digits behind "\u" and appends the character; joins the halves of a surrogate pair. */
static int parse_unicode(struct parser *p)
{
	const char *start = p->at - 2;
	int v = hex4(p);

	if (v >= 0xd800 && v < 0xdc00) {
		const char *behind = p->at;
		int low = take(p, '\\') && take(p, 'u') ? hex4(p) : -1;

		if (low >= 0xdc00 && low < 0xe000)
			v = 0x10000 + (v - 0xd800) * 0x400 + low - 0xdc00;
		else
			p->at = behind;
	}
	if (v >= 0xd800 && v < 0xe000 && p->lenient)
		v = 0xfffd;
	if (v < 0 || (v >= 0xd800 && v < 0xe000))
		return fail_at(p, start, "bad \\u escape");
	put_character(p, v);
	return 0;
}

static int parse_escape(struct parser *p)
{
	static const char from[] = "\"\\/bfnrt";
	static const char to[] = "\"\\/\b\f\n\r\t";
	const char *found;

	if (p->at == p->end)
		return fail(p, "");
	if (take(p, 'u'))
		return parse_unicode(p);
	found = memchr(from, *p->at, sizeof(from) - 1);
	if (!found)
		return fail_at(p, p->at - 1, "unknown escape");
	*p->chars++ = to[found - from];
	p->at++;
	return 0;
}

static int parse_string(struct parser *p, struct str *ret)
{
	const char *start = p->at;
	char *out = p->chars;

	if (!take(p, '"'))
		return fail(p, "expected a string");
	while (!take(p, '"')) {
		if (p->at == p->end)
			return fail(p, "");
		if ((unsigned char)*p->at < 0x20)
			return fail(p, "control character in a string; write it as an escape");
		if (take(p, '\\')) {
			if (parse_escape(p) < 0)
				return -1;
		} else {
			*p->chars++ = *p->at++;
		}
	}
	*ret = (struct str){ out, (size_t)(p->chars - out) };
	*p->chars++ = '\0';
	if (!utf8_valid(ret->p, ret->n))
		return fail_at(p, start, "string is not UTF-8");
	return 0;
}

/* --- containers --------------------------------------------------------------------------- */

static void push(struct parser *p, const struct json_member *m)
{
	assert((char *)&p->doc->slot[p->top - 1] >= p->done);
	p->doc->slot[--p->top] = *m;
}

/* Pops the values that were pushed since the top was MARK. Returns them as an array of *RET_N
 * members, oldest first. */
static struct json_member *pop_all(struct parser *p, size_t mark, size_t *ret_n)
{
	struct json_member *m = &p->doc->slot[p->top];
	size_t n = mark - p->top;

	for (size_t i = 0; i < n / 2; i++) {
		struct json_member swap = m[i];

		m[i] = m[n - 1 - i];
		m[n - 1 - i] = swap;
	}
	p->top = mark;
	*ret_n = n;
	return m;
}

static int parse_array(struct parser *p, struct json_value *ret)
{
	size_t mark = p->top, n;
	struct json_member *m, one = { 0 };
	struct json_value *item = NULL;

	skip_space(p);
	if (!take(p, ']')) {
		do {
			if (parse_value(p, &one.value) < 0)
				return -1;
			push(p, &one);
			skip_space(p);
		} while (take(p, ','));
		if (!take(p, ']'))
			return fail(p, "expected ',' or ']'");
	}
	m = pop_all(p, mark, &n);
	item = (void *)p->done;
	/* source and target may overlap; the target begins at the same or a lower address, so
	 * copying in this order never overwrites a value that is still to be copied */
	for (size_t i = 0; i < n; i++) {
		struct json_value v = m[i].value;

		item[i] = v;
	}
	p->done = (void *)(item + n);
	ret->type = JSON_ARRAY;
	ret->array.n = n;
	ret->array.item = item;
	return 0;
}

static int key_compare(struct str a, struct str b)
{
	int r = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

	return r ? r : (a.n > b.n) - (a.n < b.n);
}

static int by_key(const void *a, const void *b)
{
	const struct json_member *const *x = a, *const *y = b;
	int r = key_compare((*x)->key, (*y)->key);

	return r ? r : (*x > *y) - (*x < *y);
}

static int fail_duplicate(struct parser *p, struct str key)
{
	char what[128];

	snprintf(what, sizeof(what), "two members '%.*s' in the object that ends here",
		 key.n > 64 ? 64 : (int)key.n, key.p);
	return fail_at(p, p->at - 1, what);
}

static int check_keys(struct parser *p, const struct json_member *m, size_t n,
		      struct json_member **sorted)
{
	for (size_t i = 1; i < n && sorted; i++)
		if (key_compare(sorted[i]->key, sorted[i - 1]->key) == 0)
			return fail_duplicate(p, sorted[i]->key);
	for (size_t i = 1; i < n && !sorted; i++)
		for (size_t k = 0; k < i; k++)
			if (key_compare(m[i].key, m[k].key) == 0)
				return fail_duplicate(p, m[i].key);
	return 0;
}

/* Returns an array of pointers to the members, sorted by key. Members with the same key stay in the
 * order of the text. Returns NULL if there is no memory. */
static struct json_member **sort_members(struct json_member *m, size_t n)
{
	struct json_member **sorted = calloc(n, sizeof(*sorted));

	for (size_t i = 0; sorted && i < n; i++)
		sorted[i] = &m[i];
	if (sorted)
		qsort(sorted, n, sizeof(*sorted), by_key);
	return sorted;
}

/* Moves the value of IT to FIRST. IT is a later member with the same key. */
static void replace_first(struct json_member *first, struct json_member *it)
{
	first->value = it->value;
	it->key.p = NULL; /* handle_same_keys() drops members without a key */
}

static void join_few(struct json_member *m, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (m[k].key.p && key_compare(m[k].key, m[i].key) == 0) {
				replace_first(&m[k], &m[i]);
				break;
			}
}

static void join_sorted(struct json_member **sorted, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (key_compare(sorted[i]->key, sorted[i - 1]->key) == 0) {
			replace_first(sorted[i - 1], sorted[i]);
			/* A third member with the same key is compared with sorted[i]. It must
			 * replace the value of the first member, not of the dropped second member.
			 * So sorted[i] now points to the first member. */
			sorted[i] = sorted[i - 1];
		}
}

/* Handles members with the same key: they are an error, or become one member if the parser is
 * lenient. *N becomes the number of members that are left. */
static int handle_same_keys(struct parser *p, struct json_member *m, size_t *n)
{
	AUTO_FREE struct json_member **sorted = NULL;
	size_t left = 0;

	if (*n > SMALL_OBJECT) {
		sorted = sort_members(m, *n);
		if (!sorted)
			return err_sys(p->e, ENOMEM, "compare the keys of an object");
	}
	if (!p->lenient)
		return check_keys(p, m, *n, sorted);
	if (sorted)
		join_sorted(sorted, *n);
	else
		join_few(m, *n);
	for (size_t i = 0; i < *n; i++)
		if (m[i].key.p)
			m[left++] = m[i];
	*n = left;
	return 0;
}

static int parse_object(struct parser *p, struct json_value *ret)
{
	size_t mark = p->top, n;
	struct json_member *m, one = { 0 };

	skip_space(p);
	if (!take(p, '}')) {
		do {
			skip_space(p);
			if (parse_string(p, &one.key) < 0)
				return -1;
			skip_space(p);
			if (!take(p, ':'))
				return fail(p, "expected ':'");
			if (parse_value(p, &one.value) < 0)
				return -1;
			push(p, &one);
			skip_space(p);
		} while (take(p, ','));
		if (!take(p, '}'))
			return fail(p, "expected ',' or '}'");
	}
	m = pop_all(p, mark, &n);
	if (handle_same_keys(p, m, &n) < 0)
		return -1;
	if (n)
		memmove(p->done, m, n * sizeof(*m));
	ret->type = JSON_OBJECT;
	ret->object.n = n;
	ret->object.member = (void *)p->done;
	p->done += n * sizeof(*m);
	return 0;
}

static int parse_value(struct parser *p, struct json_value *ret)
{
	int r;

	skip_space(p);
	if (p->at == p->end)
		return fail(p, "");
	switch (*p->at) {
	case 'n':
		ret->type = JSON_NULL;
		return parse_word(p, "null");
	case 't':
		ret->type = JSON_BOOL;
		ret->boolean = true;
		return parse_word(p, "true");
	case 'f':
		ret->type = JSON_BOOL;
		ret->boolean = false;
		return parse_word(p, "false");
	case '"':
		ret->type = JSON_STRING;
		return parse_string(p, &ret->string);
	case '[':
	case '{':
		if (p->depth == JSON_DEPTH_MAX)
			return fail(p, "nested too deeply");
		p->depth++;
		r = *p->at++ == '[' ? parse_array(p, ret) : parse_object(p, ret);
		p->depth--;
		return r;
	case '-':
	case '0' ... '9':
		return parse_number(p, ret);
	default:
		return fail(p, "expected a value");
	}
}

/* --- documents ---------------------------------------------------------------------------- */

/* Returns true if the bracket in front of S is closed at once and so holds no value. */
static bool closes_at_once(const char *s, const char *end)
{
	while (s < end && (*s == ' ' || *s == '\n' || *s == '\r' || *s == '\t'))
		s++;
	return s < end && (*s == ']' || *s == '}');
}

/* Returns how many values besides the root the text can hold; see the top of the file. */
static size_t count_slots(const char *s, const char *end)
{
	bool quoted = false;
	size_t n = 0;

	for (; s < end; s++) {
		if (quoted && *s == '\\')
			s++;
		else if (*s == '"')
			quoted = !quoted;
		else if (!quoted &&
			 (*s == ',' || ((*s == '[' || *s == '{') && !closes_at_once(s + 1, end))))
			n++;
	}
	return n;
}

static int parse(const char *p, size_t n, bool lenient, struct json_doc **ret, struct err *e)
{
	AUTO_JSON doc = NULL;
	struct parser state = { .text = p, .at = p, .end = p + n, .lenient = lenient, .e = e };
	size_t bytes;
	char *chars;

	if (n > JSON_TEXT_MAX)
		return err_set(e, ERR_LIMIT, "JSON text of %zu bytes; the limit is %u", n,
			       JSON_TEXT_MAX);
	state.top = count_slots(p, state.end);
	if (lenient && state.top >= JSON_LENIENT_VALUES_MAX)
		return err_set(e, ERR_LIMIT, "JSON text of %zu values; the limit is %u",
			       state.top + 1, JSON_LENIENT_VALUES_MAX);
	/* the characters get one byte more than the text has, because a number at the very end of
	 * the text needs a terminator */
	bytes = sizeof(*doc) + state.top * sizeof(doc->slot[0]) + n + 1;
	doc = malloc(bytes);
	if (!doc)
		return err_sys(e, ENOMEM, "read %zu bytes of JSON", n);
	doc->bytes = bytes;
	state.doc = doc;
	state.done = (void *)doc->slot;
	state.chars = chars = (void *)&doc->slot[state.top];
	if (parse_value(&state, &doc->root) == 0) {
		skip_space(&state);
		if (state.at == state.end) {
			*ret = TAKE(doc);
			return 0;
		}
		IGNORE(fail(&state, "expected nothing more"));
	}
	explicit_bzero(chars, n + 1); /* the text may hold a password */
	return -1;
}

int json_parse(const char *p, size_t n, struct json_doc **ret, struct err *e)
{
	return parse(p, n, false, ret, e);
}

int json_parse_lenient(const char *p, size_t n, struct json_doc **ret, struct err *e)
{
	return parse(p, n, true, ret, e);
}

size_t json_held_bytes(const struct json_doc *d)
{
	return d->bytes;
}

void json_free(struct json_doc *d)
{
	free(d);
}

void json_wipep(struct json_doc **d)
{
	if (*d)
		explicit_bzero(*d, (*d)->bytes);
	json_freep(d);
}

const struct json_value *json_root(const struct json_doc *d)
{
	return &d->root;
}

const struct json_value *json_get(const struct json_value *v, const char *key)
{
	if (!v || v->type != JSON_OBJECT)
		return NULL;
	for (size_t i = 0; i < v->object.n; i++)
		if (str_eq(v->object.member[i].key, key))
			return &v->object.member[i].value;
	return NULL;
}

const char *json_get_str(const struct json_value *v, const char *key, const char *fallback)
{
	const struct json_value *m = json_get(v, key);

	return m && m->type == JSON_STRING ? m->string.p : fallback;
}

int64_t json_get_int(const struct json_value *v, const char *key, int64_t fallback)
{
	const struct json_value *m = json_get(v, key);

	return m && m->type == JSON_INT ? m->integer : fallback;
}

bool json_get_bool(const struct json_value *v, const char *key, bool fallback)
{
	const struct json_value *m = json_get(v, key);

	return m && m->type == JSON_BOOL ? m->boolean : fallback;
}

/* --- writing ------------------------------------------------------------------------------ */

void json_writer_init(struct json_writer *w, struct buf *out, unsigned indent)
{
	*w = (struct json_writer){ .out = out, .indent = indent };
}

static void new_line(struct json_writer *w)
{
	if (!w->indent)
		return;
	buf_add_char(w->out, '\n');
	buf_add_fill(w->out, ' ', (size_t)w->indent * w->depth);
}

/* Writes the separator between the previous item and the next key or array item. */
static void separate(struct json_writer *w)
{
	if (w->depth == 0)
		return;
	if (w->need_comma)
		buf_add_char(w->out, ',');
	new_line(w);
}

static void before_value(struct json_writer *w)
{
	if (!w->after_key)
		separate(w);
	w->after_key = false;
	w->need_comma = true;
}

static void begin(struct json_writer *w, char bracket)
{
	before_value(w);
	buf_add_char(w->out, bracket);
	w->depth++;
	w->need_comma = false;
}

static void end(struct json_writer *w, char bracket)
{
	assert(w->depth > 0 && !w->after_key);
	w->depth--;
	if (w->need_comma)
		new_line(w);
	buf_add_char(w->out, bracket);
	w->need_comma = true;
}

void json_begin_object(struct json_writer *w)
{
	begin(w, '{');
}

void json_end_object(struct json_writer *w)
{
	end(w, '}');
}

void json_begin_array(struct json_writer *w)
{
	begin(w, '[');
}

void json_end_array(struct json_writer *w)
{
	end(w, ']');
}

/* Writes C as an escape. Does not use snprintf, because snprintf is slow and a log may hold many
 * escaped characters. */
static void add_escaped(struct buf *out, unsigned char c)
{
	static const char plain[] = "\"\\\b\f\n\r\t";
	static const char letter[] = "\"\\bfnrt";
	static const char hex[] = "0123456789abcdef";
	const char *found = memchr(plain, c, sizeof(plain) - 1);
	char text[] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };

	if (found)
		text[1] = letter[found - plain];
	buf_add(out, text, found ? 2 : sizeof(text));
}

/* Returns the length of the UTF-8 sequence at P, or 0 if there is none. */
static size_t utf8_length(const char *p, size_t n)
{
	unsigned char c = (unsigned char)*p;
	size_t k = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

	return k == 1 || (k <= n && utf8_valid(p, k)) ? k : 0;
}

/* Returns true if the character at P, which has K bytes, must not be written as it is. A terminal
 * obeys control characters, also those from U+0080 to U+009F. */
static bool needs_escape(const char *p, size_t k)
{
	unsigned char c = (unsigned char)*p;

	return c < 0x20 || c == '"' || c == '\\' || c == 0x7f ||
	       (k == 2 && c == 0xc2 && (unsigned char)p[1] < 0xa0);
}

static void add_quoted(struct buf *out, const char *p, size_t n)
{
	size_t start = 0, i = 0;

	buf_add_char(out, '"');
	while (i < n) {
		size_t k = utf8_length(p + i, n - i);

		if (k && !needs_escape(p + i, k)) {
			i += k;
			continue;
		}
		buf_add(out, p + start, i - start);
		/* needs_escape() is true only for code points below 0xa0; in UTF-8, the last byte
		 * of such a character is the number of its code point */
		if (k)
			add_escaped(out, (unsigned char)p[i + k - 1]);
		else
			buf_add_str(out, "\xef\xbf\xbd");
		i += k ? k : 1;
		start = i;
	}
	buf_add(out, p + start, n - start);
	buf_add_char(out, '"');
}

static void add_key(struct json_writer *w, const char *p, size_t n)
{
	assert(w->depth > 0 && !w->after_key);
	separate(w);
	add_quoted(w->out, p, n);
	buf_add_str(w->out, w->indent ? ": " : ":");
	w->after_key = true;
}

void json_key(struct json_writer *w, const char *key)
{
	add_key(w, key, strlen(key));
}

void json_null(struct json_writer *w)
{
	before_value(w);
	buf_add_str(w->out, "null");
}

void json_bool(struct json_writer *w, bool v)
{
	before_value(w);
	buf_add_str(w->out, v ? "true" : "false");
}

void json_int(struct json_writer *w, int64_t v)
{
	before_value(w);
	buf_addf(w->out, "%" PRId64, v);
}

void json_uint(struct json_writer *w, uint64_t v)
{
	before_value(w);
	buf_addf(w->out, "%" PRIu64, v);
}

void json_double(struct json_writer *w, double v)
{
	char s[40];

	if (!isfinite(v)) {
		json_null(w);
		return;
	}
	before_value(w);
	/* 15 digits are easy to read and nearly always exact; 17 digits are always exact */
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(s, sizeof(s), "%.*g", digits, v);
		if (strtod(s, NULL) == v)
			break;
	}
	buf_add_str(w->out, s);
	if (!strpbrk(s, ".e"))
		buf_add_str(w->out, ".0"); /* shows the reader that the number is not an integer */
}

void json_strn(struct json_writer *w, const char *p, size_t n)
{
	before_value(w);
	add_quoted(w->out, p, n);
}

void json_str(struct json_writer *w, const char *s)
{
	if (s)
		json_strn(w, s, strlen(s));
	else
		json_null(w);
}

void json_written(struct json_writer *w, const char *p, size_t n)
{
	before_value(w);
	buf_add(w->out, p, n);
}

void json_value_copy(struct json_writer *w, const struct json_value *v)
{
	switch (v->type) {
	case JSON_NULL:
		json_null(w);
		break;
	case JSON_BOOL:
		json_bool(w, v->boolean);
		break;
	case JSON_INT:
		json_int(w, v->integer);
		break;
	case JSON_DOUBLE:
		json_double(w, v->number);
		break;
	case JSON_STRING:
		json_strn(w, v->string.p, v->string.n);
		break;
	case JSON_ARRAY:
		json_begin_array(w);
		for (size_t i = 0; i < v->array.n; i++)
			json_value_copy(w, &v->array.item[i]);
		json_end_array(w);
		break;
	case JSON_OBJECT:
		json_begin_object(w);
		for (size_t i = 0; i < v->object.n; i++) {
			add_key(w, v->object.member[i].key.p, v->object.member[i].key.n);
			json_value_copy(w, &v->object.member[i].value);
		}
		json_end_object(w);
		break;
	}
}

void json_key_str(struct json_writer *w, const char *key, const char *s)
{
	json_key(w, key);
	json_str(w, s);
}

void json_key_int(struct json_writer *w, const char *key, int64_t v)
{
	json_key(w, key);
	json_int(w, v);
}

void json_key_bool(struct json_writer *w, const char *key, bool v)
{
	json_key(w, key);
	json_bool(w, v);
}

void json_key_null(struct json_writer *w, const char *key)
{
	json_key(w, key);
	json_null(w);
}

/* --- decoding by table --------------------------------------------------------------------- */

static const char *type_name(const struct json_value *v)
{
	static const char *const names[] = {
		[JSON_NULL] = "null",     [JSON_BOOL] = "boolean",  [JSON_INT] = "integer",
		[JSON_DOUBLE] = "number", [JSON_STRING] = "string", [JSON_ARRAY] = "array",
		[JSON_OBJECT] = "object",
	};

	return v ? names[v->type] : "nothing";
}

/* A format and its arguments: they write PATH, a dot and KEY. If PATH is empty, they write only
 * KEY. */
#define AT_FMT "%s%s%s"
#define AT(path, key) (path), *(path) ? "." : "", (key)

static int check_field(const struct json_value *v, const char *path, const struct json_field *f,
		       struct err *e)
{
	switch (f->kind) {
	case JSON_FIELD_STR:
		if (v->type != JSON_STRING)
			return err_set(e, ERR_INVALID, AT_FMT ": expected string, got %s",
				       AT(path, f->key), type_name(v));
		if (memchr(v->string.p, '\0', v->string.n))
			return err_set(e, ERR_INVALID, AT_FMT ": contains a NUL character",
				       AT(path, f->key));
		return 0;
	case JSON_FIELD_INT:
		if (v->type != JSON_INT)
			return err_set(e, ERR_INVALID,
				       AT_FMT ": expected integer %" PRId64 "..%" PRId64 ", got %s",
				       AT(path, f->key), f->min, f->max, type_name(v));
		if (v->integer < f->min || v->integer > f->max)
			return err_set(e, ERR_INVALID,
				       AT_FMT ": expected integer %" PRId64 "..%" PRId64
					      ", got %" PRId64,
				       AT(path, f->key), f->min, f->max, v->integer);
		return 0;
	case JSON_FIELD_BOOL:
		if (v->type != JSON_BOOL)
			return err_set(e, ERR_INVALID, AT_FMT ": expected boolean, got %s",
				       AT(path, f->key), type_name(v));
		return 0;
	case JSON_FIELD_VALUE:
		return 0;
	}
	return 0;
}

static void store_field(const struct json_value *v, const struct json_field *f, void *out)
{
	void *to = (char *)out + f->offset;

	switch (f->kind) {
	case JSON_FIELD_STR:
		*(const char **)to = v->string.p;
		break;
	case JSON_FIELD_INT:
		*(int64_t *)to = v->integer;
		break;
	case JSON_FIELD_BOOL:
		*(bool *)to = v->boolean;
		break;
	case JSON_FIELD_VALUE:
		*(const struct json_value **)to = v;
		break;
	}
}

/* Returns the member that F describes, or NULL if there is nothing to store. */
static const struct json_value *field_value(const struct json_value *v, const struct json_field *f)
{
	const struct json_value *m = json_get(v, f->key);

	return m && m->type == JSON_NULL && f->need == JSON_OPTIONAL ? NULL : m;
}

static int check_known(const struct json_value *v, const char *path, const struct json_field *f,
		       size_t n_fields, struct err *e)
{
	for (size_t i = 0; i < v->object.n; i++) {
		struct str key = v->object.member[i].key;
		size_t k = 0;

		while (k < n_fields && !str_eq(key, f[k].key))
			k++;
		if (k == n_fields)
			return err_set(e, ERR_INVALID, AT_FMT ": unknown member", AT(path, key.p));
	}
	return 0;
}

int json_decode(const struct json_value *v, const char *path, const struct json_field *f,
		size_t n_fields, bool strict, void *out, struct err *e)
{
	if (!v || v->type != JSON_OBJECT)
		return err_set(e, ERR_INVALID, "%s%sexpected object, got %s", path,
			       *path ? ": " : "", type_name(v));
	for (size_t i = 0; i < n_fields; i++) {
		const struct json_value *m = field_value(v, &f[i]);

		if (!m && f[i].need == JSON_REQUIRED)
			return err_set(e, ERR_INVALID, AT_FMT ": missing", AT(path, f[i].key));
		if (m && check_field(m, path, &f[i], e) < 0)
			return -1;
	}
	if (strict && check_known(v, path, f, n_fields, e) < 0)
		return -1;
	for (size_t i = 0; i < n_fields; i++) {
		const struct json_value *m = field_value(v, &f[i]);

		if (m)
			store_field(m, &f[i], out);
	}
	return 0;
}
