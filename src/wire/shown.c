#include "wire/shown.h"

#include <string.h>

enum { TLS_HANDSHAKE = 22, TLS_DATA = 23, CLIENT_HELLO = 1 };
#define RECORD_HEADER_BYTES 5u
#define TELLING_BYTES 6u     /* of a handshake record: its type, length and version */
#define LINE_MAX_BYTES 4096u /* of a chunk's size with its extensions, or of a trailer */

static enum shown_step bad(struct hello *h)
{
	*h = (struct hello){ .kind = HELLO_BAD };
	return SHOWN_JUDGE;
}

static enum shown_step judge(const struct hello *h)
{
	return h->kind == HELLO_MORE ? SHOWN_WAIT : SHOWN_JUDGE;
}

static enum shown_step pass(struct shown *s, uint64_t n, enum shown_state then)
{
	s->left = n;
	s->state = then;
	return SHOWN_PASS;
}

/* --- HTTP ---------------------------------------------------------------------------------------- */

/* Skips empty lines before a request, as servers do. Some skip any white space, also lone carriage
 * returns. */
static enum shown_step next_head(struct shown *s, const uint8_t *p, size_t n, struct hello *h)
{
	if (p[0] == ' ' || (p[0] >= '\t' && p[0] <= '\r'))
		return pass(s, 1, SHOWN_HEAD);
	hello_read_http(p, n, h);
	return judge(h);
}

/* Finds a line that ends in CR LF, on which all servers agree. RET_LEN does not count these two. */
static enum shown_step next_line(const uint8_t *p, size_t n, size_t *ret_len, struct hello *h)
{
	const uint8_t *end = memchr(p, '\n', n < LINE_MAX_BYTES ? n : LINE_MAX_BYTES);

	if (!end)
		return n < LINE_MAX_BYTES ? SHOWN_WAIT : bad(h);
	if (end == p || end[-1] != '\r' || memchr(p, '\r', (size_t)(end - p)) != end - 1)
		return bad(h);
	*ret_len = (size_t)(end - p) - 1;
	return SHOWN_PASS;
}

static int hex_digit(uint8_t c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* SIZE[;EXTENSIONS] */
static enum shown_step next_chunk(struct shown *s, const uint8_t *p, size_t n, struct hello *h)
{
	size_t len = 0, i = 0;
	enum shown_step step = next_line(p, n, &len, h);
	uint64_t size = 0;

	if (step != SHOWN_PASS)
		return step;
	for (; i < len && i < 15 && hex_digit(p[i]) >= 0; i++)
		size = size << 4 | (uint64_t)hex_digit(p[i]);
	if (i == 0 || (i < len && p[i] != ';'))
		return bad(h);
	return pass(s, len + 2 + size, size ? SHOWN_AFTER : SHOWN_TRAILER);
}

static enum shown_step next_trailer(struct shown *s, const uint8_t *p, size_t n, struct hello *h)
{
	size_t len = 0;
	enum shown_step step = next_line(p, n, &len, h);

	return step == SHOWN_PASS ? pass(s, len + 2, len ? SHOWN_TRAILER : SHOWN_HEAD) : step;
}

static enum shown_step after_chunk(struct shown *s, const uint8_t *p, size_t n, struct hello *h)
{
	if (p[0] != '\r' || (n > 1 && p[1] != '\n'))
		return bad(h);
	return n > 1 ? pass(s, 2, SHOWN_CHUNK) : SHOWN_WAIT;
}

/* --- TLS ----------------------------------------------------------------------------------------- */

/*
 * Behind the first hello come records. One of type handshake that is not encrypted and begins with a hello
 * is the second try of a client whose first was turned down. An encrypted one, the last of a handshake in
 * TLS 1.2, looks like noise: it passes for a hello once in 2^28 times.
 */
static bool may_be_hello(const uint8_t *body, size_t n)
{
	if (body[0] != CLIENT_HELLO)
		return false;
	return n < TELLING_BYTES || (body[1] <= 2 && body[4] == 3 && body[5] <= 4);
}

static enum shown_step next_record(struct shown *s, const uint8_t *p, size_t n, struct hello *h)
{
	size_t len, seen;

	if (n < RECORD_HEADER_BYTES)
		return SHOWN_WAIT;
	len = (size_t)p[3] << 8 | p[4];
	seen = n - RECORD_HEADER_BYTES < len ? n - RECORD_HEADER_BYTES : len;
	if (p[0] == TLS_HANDSHAKE && seen < len && seen < TELLING_BYTES)
		return SHOWN_WAIT;
	if (p[0] == TLS_HANDSHAKE && len > 0 && may_be_hello(p + RECORD_HEADER_BYTES, seen)) {
		hello_read_tls(p, n, h);
		return judge(h);
	}
	return pass(s, RECORD_HEADER_BYTES + len,
		    p[0] == TLS_DATA && !s->early ? SHOWN_OVER : SHOWN_RECORDS);
}

/* --- the whole ------------------------------------------------------------------------------------- */

static enum shown_step begin(struct shown *s, const uint8_t *p, size_t n, struct hello *h)
{
	h->kind = hello_look_ahead(p, n);
	if (h->kind != HELLO_OPAQUE)
		return judge(h);
	s->state = hello_is_tls(p[0]) ? SHOWN_HELLO : s->http ? SHOWN_HEAD : SHOWN_OVER;
	return s->state == SHOWN_OVER ? SHOWN_JUDGE : SHOWN_PASS;
}

static enum shown_step look(struct shown *s, const uint8_t *p, size_t n, struct hello *h)
{
	switch (s->state) {
	case SHOWN_BEGIN:
		break; /* not any more */
	case SHOWN_HEAD:
		return next_head(s, p, n, h);
	case SHOWN_CHUNK:
		return next_chunk(s, p, n, h);
	case SHOWN_AFTER:
		return after_chunk(s, p, n, h);
	case SHOWN_TRAILER:
		return next_trailer(s, p, n, h);
	case SHOWN_HELLO:
		hello_read_tls(p, n, h);
		return judge(h);
	case SHOWN_RECORDS:
		return next_record(s, p, n, h);
	case SHOWN_OVER:
		break;
	}
	return pass(s, n, SHOWN_OVER);
}

enum shown_step shown_next(struct shown *s, const uint8_t *p, size_t n, size_t *ret_n,
			   struct hello *ret_hello)
{
	enum shown_step step = SHOWN_PASS;

	*ret_hello = (struct hello){ 0 };
	if (n == 0)
		return SHOWN_WAIT;
	if (s->state == SHOWN_BEGIN)
		step = begin(s, p, n, ret_hello);
	if (step == SHOWN_PASS && s->left == 0)
		step = look(s, p, n, ret_hello);
	if (step != SHOWN_PASS)
		return step;
	*ret_n = s->left < n ? (size_t)s->left : n;
	s->left -= *ret_n;
	return SHOWN_PASS;
}

/* If no rule needs a name, bytes that cannot be read count as opaque. */
void shown_allow(struct shown *s, const struct hello *h)
{
	if (h->kind == HELLO_OPAQUE || h->kind == HELLO_BAD) {
		s->state = SHOWN_OVER;
	} else if (s->state == SHOWN_HEAD) {
		pass(s, h->n + h->body, h->chunked ? SHOWN_CHUNK : SHOWN_HEAD);
	} else {
		s->early |= h->early;
		pass(s, h->n, SHOWN_RECORDS);
	}
}
