#include "logs/render.h"

#include <string.h>

/* These colours are readable on dark and on light backgrounds. Red and yellow are kept for errors
 * and warnings. */
static const unsigned char colours[] = { 36, 35, 32, 34, 96, 95, 92, 94 };

#define ESC '\033'

/* P points to an ESC. Returns the address of the first byte after the escape sequence that begins
 * at P. */
static const char *skip_sequence(const char *p, const char *end)
{
	if (++p == end)
		return end;
	switch (*p++) {
	case '[': /* CSI: up to its final byte */
		while (p < end && !(*p >= 0x40 && *p <= 0x7e))
			p++;
		return p < end ? p + 1 : end;
	case ']': /* OSC, DCS, SOS, PM, APC: up to BEL, ESC \ or the ESC of another sequence */
	case 'P':
	case 'X':
	case '^':
	case '_':
		for (; p < end; p++) {
			if (*p == '\a')
				return p + 1;
			if (*p == ESC)
				return p + 1 < end && p[1] == '\\' ? p + 2 : p;
		}
		return end;
	case '(': /* character sets: one more byte */
	case ')':
	case '#':
		return p < end ? p + 1 : end;
	default:
		return p;
	}
}

void render_strip(struct buf *out, struct str body)
{
	const char *p = body.p, *end = p + body.n;

	while (p < end) {
		const char *esc = memchr(p, ESC, (size_t)(end - p));

		buf_add(out, p, (size_t)((esc ? esc : end) - p));
		p = esc ? skip_sequence(esc, end) : end;
	}
}

/* Replaces "\r\n" and a lone "\r" by "\n". On a terminal a lone "\r" would let a command draw over
 * its own line and hide what it printed before. The function works in place, because the text only
 * becomes shorter, and returns the new length. */
static size_t end_lines(char *p, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (p[i] != '\r')
			p[k++] = p[i];
		else if (i + 1 == n || p[i + 1] != '\n')
			p[k++] = '\n';
	return k;
}

void render_clean(struct buf *out, struct str body)
{
	AUTO_BUF plain = BUF_INIT(ENTRY_LINE_MAX_BYTES);

	render_strip(&plain, body);
	buf_add_clean_n(out, plain.p, end_lines(plain.p, plain.n), "\n\t");
}

void render_clean_json(struct buf *out, struct str line)
{
	for (size_t i = 0; i < line.n; i++) {
		unsigned char c = (unsigned char)line.p[i];
		unsigned char next = i + 1 < line.n ? (unsigned char)line.p[i + 1] : 0;

		if (c < 0x20) { /* valid JSON has such a byte only as a blank between values */
			buf_add_char(out, ' ');
		} else if (c == 0x7f) {
			buf_add_str(out, "\\u007f");
		} else if (c == 0xc2 && next >= 0x80 && next < 0xa0) {
			buf_addf(out, "\\u%04x", next);
			i++;
		} else {
			buf_add_char(out, (char)c);
		}
	}
}

/* Counts the bytes at the end of P that begin an incomplete UTF-8 character. */
static unsigned open_character(const char *p, size_t n)
{
	for (unsigned k = 1; k <= 3 && k <= n; k++) {
		unsigned char c = (unsigned char)p[n - k];

		if (c >= 0xc0)
			return (c < 0xe0 ? 2u : c < 0xf0 ? 3u : 4u) > k ? k : 0;
		if (c < 0x80)
			return 0;
	}
	return 0;
}

/* Renders the body of E for a terminal. An entry may end inside a character or between "\r" and
 * "\n". R keeps what is needed to continue with the next entry of the same stream. */
static void add_clean(struct buf *out, struct render *r, const struct entry *e)
{
	AUTO_BUF whole = BUF_INIT(ENTRY_LINE_MAX_BYTES + sizeof(r->held));
	bool goes_on = r->held_id == e->id && r->held_source == e->source;
	struct str body = e->body;

	if (r->n_held && !goes_on)
		buf_add_clean_n(out, r->held, r->n_held, "");
	else if (r->n_held)
		buf_add(&whole, r->held, r->n_held);
	if (r->after_return && goes_on && body.n && body.p[0] == '\n')
		body = (struct str){ body.p + 1, body.n - 1 };
	buf_add(&whole, body.p, body.n);
	r->after_return = whole.n && whole.p[whole.n - 1] == '\r';
	r->n_held = whole.n ? open_character(whole.p, whole.n) : 0;
	r->held_id = e->id;
	r->held_source = e->source;
	if (r->n_held)
		memcpy(r->held, whole.p + whole.n - r->n_held, r->n_held);
	render_clean(out, (struct str){ whole.p, whole.n - r->n_held });
}

void render_json_line(struct buf *out, const struct render *r, struct str line)
{
	if (r->bytes == RENDER_TERMINAL)
		render_clean_json(out, line);
	else
		buf_add(out, line.p, line.n);
	buf_add_char(out, '\n');
}

static void add_json(struct buf *out, const struct render *r, const struct entry *e)
{
	AUTO_BUF line = BUF_INIT(6 * ENTRY_LINE_MAX_BYTES + 256); /* one byte may become six */
	struct json_writer w;

	if (e->line.n) { /* the entry comes from the log, where it already is a line of JSON */
		render_json_line(out, r, e->line);
		return;
	}
	json_writer_init(&w, &line, 0);
	json_begin_object(&w);
	json_key(&w, "d");
	json_strn(&w, e->body.p, e->body.n);
	json_key_null(&w, "e");
	json_key_null(&w, "id");
	json_key_str(&w, "s", execlog_source_name(e->source));
	json_key_str(&w, "t", e->time);
	json_end_object(&w);
	render_json_line(out, r, (struct str){ line.p, line.n });
}

static unsigned colour_of(const struct entry *e)
{
	return colours[e->id % sizeof(colours)];
}

static void add_id(struct buf *out, const struct render *r, const struct entry *e)
{
	bool coloured = r->colour_sessions && e->id;

	if (coloured)
		buf_addf(out, "\033[%um", colour_of(e));
	if (e->id)
		buf_addf(out, "[id:%3llu]", (unsigned long long)e->id);
	else
		buf_add_str(out, "[id:sys]");
	buf_add_str(out, coloured ? "\033[0m " : " ");
}

static void add_prefix(struct buf *out, const struct render *r, const struct entry *e, bool first)
{
	if (r->timestamps) {
		if (first)
			buf_add_str(out, e->time);
		else
			buf_add_fill(out, ' ', strlen(e->time));
		buf_add_char(out, '\t');
	}
	if (r->show_id)
		add_id(out, r, e);
}

static void add_line(struct buf *out, const struct render *r, const struct entry *e,
		     struct str text)
{
	bool coloured = r->colour_sessions && e->id && text.n;

	if (coloured)
		buf_addf(out, "\033[%um", colour_of(e));
	buf_add(out, text.p, text.n);
	if (coloured)
		buf_add_str(out, "\033[0m");
}

static void add_text(struct buf *out, const struct render *r, const struct entry *e,
		     struct str body)
{
	for (bool first = true; body.n; first = false) {
		const char *feed = memchr(body.p, '\n', body.n);
		size_t n = feed ? (size_t)(feed - body.p) : body.n;

		/* the first line always gets a prefix, a later line only if it is not empty */
		if (first || n)
			add_prefix(out, r, e, first);
		add_line(out, r, e, (struct str){ body.p, n });
		if (feed)
			buf_add_char(out, '\n');
		body.p += n + (feed != NULL);
		body.n -= n + (feed != NULL);
	}
}

void render_entry(struct buf *out, struct render *r, const struct entry *e)
{
	/* a byte that is shown as \\xNN takes four bytes */
	AUTO_BUF plain = BUF_INIT(4 * ENTRY_LINE_MAX_BYTES);
	struct str body = e->body;
	/* a whole entry begins a new line and ends its last line; entries that cordon itself wrote
	 * are whole, and if entries get prefixes, all entries are whole */
	bool whole = r->timestamps || r->show_id || e->source == LOG_SYSTEM || e->source == LOG_NET;

	if (r->json) {
		add_json(out, r, e);
		return;
	}
	if (r->bytes != RENDER_RAW) {
		if (r->bytes == RENDER_TERMINAL)
			add_clean(&plain, r, e);
		else
			render_strip(&plain, body);
		body = (struct str){ plain.p, plain.n };
	}
	if (body.n == 0)
		return;
	if (whole && r->midline)
		buf_add_char(out, '\n');
	add_text(out, r, e, body);
	r->midline = body.p[body.n - 1] != '\n';
	if (whole && r->midline) {
		buf_add_char(out, '\n');
		r->midline = false;
	}
}
