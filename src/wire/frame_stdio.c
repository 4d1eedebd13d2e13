#include "wire/frame_stdio.h"

#include <errno.h>

#include "base/json.h"

#define KEEP_BYTES (64u << 10) /* memory that stays allocated between messages */

void stdio_reader_init(struct stdio_reader *r)
{
	*r = (struct stdio_reader){ 0 };
	/* the peer may send even the longest message on one line */
	buf_init(&r->line, STDIO_MESSAGE_MAX_BYTES);
	buf_init(&r->message, STDIO_MESSAGE_MAX_BYTES);
}

void stdio_reader_done(struct stdio_reader *r)
{
	buf_done(&r->line);
	buf_done(&r->message);
}

size_t stdio_held_bytes(const struct stdio_reader *r)
{
	return r->line.cap + r->message.cap;
}

static void forget(struct buf *b)
{
	if (b->cap > KEEP_BYTES)
		buf_done(b);
	buf_clear(b);
}

/* --- chunks ----------------------------------------------------------------------------------- */

enum line_kind { LINE_PLAIN, LINE_START, LINE_DATA, LINE_END };

static enum line_kind kind_of(const struct json_value *v)
{
	const struct json_value *type = json_get(v, "type");

	if (!type || type->type != JSON_STRING)
		return LINE_PLAIN;
	if (str_eq(type->string, "chunk_start"))
		return LINE_START;
	if (str_eq(type->string, "chunk_data"))
		return LINE_DATA;
	return str_eq(type->string, "chunk_end") ? LINE_END : LINE_PLAIN;
}

static int begin_message(struct stdio_reader *r, const struct json_value *v)
{
	int64_t total = json_get_int(v, "total_size", -1);

	if (total < 0 || total > STDIO_MESSAGE_MAX_BYTES)
		return -EPROTO;
	forget(&r->message);
	r->assembling = true;
	r->total = (size_t)total;
	r->pieces = 0;
	return 0;
}

static int add_piece(struct stdio_reader *r, const struct json_value *v)
{
	const struct json_value *data = json_get(v, "data");
	int64_t offset = json_get_int(v, "offset", -1);

	if (!data || data->type != JSON_STRING || offset < 0 || (size_t)offset != r->message.n ||
	    data->string.n > r->total - r->message.n || ++r->pieces > STDIO_PIECES_MAX)
		return -EPROTO;
	buf_add(&r->message, data->string.p, data->string.n);
	return buf_failed(&r->message) ? -EPROTO : 0;
}

static int end_message(struct stdio_reader *r, struct str *ret)
{
	if (r->message.n != r->total)
		return -EPROTO;
	r->assembling = false;
	r->delivered = true;
	*ret = (struct str){ buf_str(&r->message), r->message.n };
	return 1;
}

/* Takes a line while a message is being assembled. Returns 1 with the message in *RET if the line
 * ends the message, 0 if more lines are needed, or -EPROTO if the line is no chunk or does not
 * fit. */
static int take_chunk(struct stdio_reader *r, const struct json_value *v, struct str *ret)
{
	switch (kind_of(v)) {
	case LINE_DATA:
		return add_piece(r, v);
	case LINE_END:
		return end_message(r, ret);
	default:
		return -EPROTO;
	}
}

/* --- lines ------------------------------------------------------------------------------------ */

static bool is_blank(char c)
{
	return c && strchr(" \t\r\v\f", c);
}

static struct str trim(struct str s)
{
	while (s.n && is_blank(s.p[0])) {
		s.p++;
		s.n--;
	}
	while (s.n && is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

/* Takes a whole line. Returns 1 with the message in *RET if LINE is or completes a message, 0 if
 * not, or -EPROTO. */
static int take_line(struct stdio_reader *r, struct str line, struct str *ret)
{
	AUTO_JSON d = NULL;
	struct err e = { 0 };
	const struct json_value *v;

	line = trim(line);
	if (line.n < 2 || line.p[0] != '{' || line.p[line.n - 1] != '}')
		return 0;
	if (line.n > STDIO_MESSAGE_MAX_BYTES)
		return -EPROTO;
	/* do not parse a plain message here: the caller of stdio_next() parses it */
	if (!r->assembling && !memmem(line.p, line.n, "\"chunk_", 7)) {
		*ret = line;
		return 1;
	}
	if (json_parse_lenient(line.p, line.n, &d, &e) < 0)
		return 0;
	v = json_root(d);
	if (r->assembling)
		return take_chunk(r, v, ret);
	switch (kind_of(v)) {
	case LINE_START:
		return begin_message(r, v);
	case LINE_PLAIN:
		*ret = line;
		return 1;
	default:
		return 0; /* ignore a chunk without a chunk_start before it */
	}
}

/* Moves IN, which is part of a line, to the end of LINE. Returns 0, or -EPROTO if LINE becomes too
 * long. */
static int keep(struct buf *line, struct str *in)
{
	if (in->n > line->max - line->n)
		return -EPROTO;
	buf_add(line, in->p, in->n);
	in->p += in->n;
	in->n = 0;
	return buf_failed(line) ? -EPROTO : 0;
}

int stdio_next(struct stdio_reader *r, struct str *in, struct str *ret)
{
	if (r->delivered) {
		r->delivered = false;
		forget(&r->message);
		forget(&r->line);
	}
	while (in->n) {
		const char *end = memchr(in->p, '\n', in->n);
		struct str line = { in->p, end ? (size_t)(end - in->p) : in->n };
		int got;

		if (!end)
			return keep(&r->line, in);
		in->p += line.n + 1;
		in->n -= line.n + 1;
		if (r->line.n) {
			if (keep(&r->line, &line) < 0)
				return -EPROTO;
			line = (struct str){ r->line.p, r->line.n };
		}
		got = take_line(r, line, ret);
		r->delivered = got == 1; /* RET may point into r->line */
		if (got != 1)
			forget(&r->line);
		if (got)
			return got;
	}
	return 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Writes a chunk line: its type, a piece of the message if PIECE is given, and a number if KEY is
 * given. */
static void put_chunk(struct buf *b, const char *type, const struct str *piece, const char *key,
		      size_t number)
{
	struct json_writer w;

	json_writer_init(&w, b, 0);
	json_begin_object(&w);
	json_key_str(&w, "type", type);
	if (piece) {
		json_key(&w, "data");
		json_strn(&w, piece->p, piece->n);
	}
	if (key)
		json_key_int(&w, key, (int64_t)number);
	json_end_object(&w);
	buf_add_char(b, '\n');
}

void stdio_put(struct buf *b, struct str message)
{
	size_t at = 0;

	if (message.n <= STDIO_PIECE_MAX_BYTES) {
		buf_add(b, message.p, message.n);
		buf_add_char(b, '\n');
		return;
	}
	put_chunk(b, "chunk_start", NULL, "total_size", message.n);
	while (at < message.n) {
		struct str piece = { message.p + at, message.n - at };
		bool bad;

		if (piece.n > STDIO_PIECE_MAX_BYTES)
			piece.n = utf8_prefix(piece.p, STDIO_PIECE_MAX_BYTES, &bad);
		if (piece.n == 0) {
			/* the message is not UTF-8; our own code never writes such a message */
			b->failed = true;
			return;
		}
		put_chunk(b, "chunk_data", &piece, "offset", at);
		at += piece.n;
	}
	put_chunk(b, "chunk_end", NULL, NULL, 0);
}
