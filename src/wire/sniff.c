#include "wire/sniff.h"

#include <string.h>

enum { TLS_HANDSHAKE = 22, TLS_DATA = 23, CLIENT_HELLO = 1 };
#define RECORD_HEADER_BYTES 5u
/* the first bytes of a handshake message, which may_be_hello() checks: type, length, version */
#define TELLING_BYTES 6u
/* longest line with a chunk's size and extensions, and longest line of a trailer */
#define LINE_MAX_BYTES 4096u

static enum sniff_step bad(struct hello *h)
{
	*h = (struct hello){ .kind = HELLO_BAD };
	return SNIFF_JUDGE;
}

static enum sniff_step judge(const struct hello *h)
{
	return h->kind == HELLO_MORE ? SNIFF_WAIT : SNIFF_JUDGE;
}

static enum sniff_step pass(struct sniff *s, uint64_t n, enum sniff_state then)
{
	s->left = n;
	s->state = then;
	return SNIFF_PASS;
}

/* --- HTTP ------------------------------------------------------------------------------------- */

/* Reads the head of a request. First skips white space, even lone carriage returns, as some servers
 * do. */
static enum sniff_step next_head(struct sniff *s, const uint8_t *p, size_t n, struct hello *h)
{
	if (p[0] == ' ' || (p[0] >= '\t' && p[0] <= '\r'))
		return pass(s, 1, SNIFF_HEAD);
	hello_read_http(p, n, h);
	return judge(h);
}

/* Finds the end of a line. A line must end in CR LF, because all servers agree on this end.
 * *RET_LEN is the length of the line without CR LF. */
static enum sniff_step next_line(const uint8_t *p, size_t n, size_t *ret_len, struct hello *h)
{
	const uint8_t *end = memchr(p, '\n', n < LINE_MAX_BYTES ? n : LINE_MAX_BYTES);

	if (!end)
		return n < LINE_MAX_BYTES ? SNIFF_WAIT : bad(h);
	if (end == p || end[-1] != '\r' || memchr(p, '\r', (size_t)(end - p)) != end - 1)
		return bad(h);
	*ret_len = (size_t)(end - p) - 1;
	return SNIFF_PASS;
}

static int hex_digit(uint8_t c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* Reads the line SIZE[;EXTENSIONS] of a chunk. */
static enum sniff_step next_chunk(struct sniff *s, const uint8_t *p, size_t n, struct hello *h)
{
	size_t len = 0, i = 0;
	enum sniff_step step = next_line(p, n, &len, h);
	uint64_t size = 0;

	if (step != SNIFF_PASS)
		return step;
	for (; i < len && i < 15 && hex_digit(p[i]) >= 0; i++)
		size = size << 4 | (uint64_t)hex_digit(p[i]);
	if (i == 0 || (i < len && p[i] != ';'))
		return bad(h);
	return pass(s, len + 2 + size, size ? SNIFF_AFTER : SNIFF_TRAILER);
}

static enum sniff_step next_trailer(struct sniff *s, const uint8_t *p, size_t n, struct hello *h)
{
	size_t len = 0;
	enum sniff_step step = next_line(p, n, &len, h);

	return step == SNIFF_PASS ? pass(s, len + 2, len ? SNIFF_TRAILER : SNIFF_HEAD) : step;
}

static enum sniff_step after_chunk(struct sniff *s, const uint8_t *p, size_t n, struct hello *h)
{
	if (p[0] != '\r' || (n > 1 && p[1] != '\n'))
		return bad(h);
	return n > 1 ? pass(s, 2, SNIFF_CHUNK) : SNIFF_WAIT;
}

/* --- TLS -------------------------------------------------------------------------------------- */

/*
 * Returns true if a handshake record behind the first hello may begin with another hello: a client
 * whose first hello was rejected sends a second hello. The last record of a TLS 1.2 handshake is
 * encrypted and looks random. About one in 2^28 of these encrypted records looks like a hello to
 * this function.
 */
static bool may_be_hello(const uint8_t *body, size_t n)
{
	if (body[0] != CLIENT_HELLO)
		return false;
	return n < TELLING_BYTES || (body[1] <= 2 && body[4] == 3 && body[5] <= 4);
}

static enum sniff_step next_record(struct sniff *s, const uint8_t *p, size_t n, struct hello *h)
{
	size_t len, seen;

	if (n < RECORD_HEADER_BYTES)
		return SNIFF_WAIT;
	len = (size_t)p[3] << 8 | p[4];
	seen = n - RECORD_HEADER_BYTES < len ? n - RECORD_HEADER_BYTES : len;
	if (p[0] == TLS_HANDSHAKE && seen < len && seen < TELLING_BYTES)
		return SNIFF_WAIT;
	if (p[0] == TLS_HANDSHAKE && len > 0 && may_be_hello(p + RECORD_HEADER_BYTES, seen)) {
		hello_read_tls(p, n, h);
		return judge(h);
	}
	return pass(s, RECORD_HEADER_BYTES + len,
		    p[0] == TLS_DATA && !s->early ? SNIFF_OVER : SNIFF_RECORDS);
}

/* --- the whole -------------------------------------------------------------------------------- */

static enum sniff_step begin(struct sniff *s, const uint8_t *p, size_t n, struct hello *h)
{
	h->kind = hello_look_ahead(p, n);
	if (h->kind != HELLO_OPAQUE)
		return judge(h);
	s->state = hello_is_tls(p[0]) ? SNIFF_HELLO : s->http ? SNIFF_HEAD : SNIFF_OVER;
	return s->state == SNIFF_OVER ? SNIFF_JUDGE : SNIFF_PASS;
}

static enum sniff_step look(struct sniff *s, const uint8_t *p, size_t n, struct hello *h)
{
	switch (s->state) {
	case SNIFF_BEGIN:
		break; /* handled by begin() */
	case SNIFF_HEAD:
		return next_head(s, p, n, h);
	case SNIFF_CHUNK:
		return next_chunk(s, p, n, h);
	case SNIFF_AFTER:
		return after_chunk(s, p, n, h);
	case SNIFF_TRAILER:
		return next_trailer(s, p, n, h);
	case SNIFF_HELLO:
		hello_read_tls(p, n, h);
		return judge(h);
	case SNIFF_RECORDS:
		return next_record(s, p, n, h);
	case SNIFF_OVER:
		break;
	}
	return pass(s, n, SNIFF_OVER);
}

enum sniff_step sniff_next(struct sniff *s, const uint8_t *p, size_t n, size_t *ret_n,
			   struct hello *ret_hello)
{
	enum sniff_step step = SNIFF_PASS;

	*ret_hello = (struct hello){ 0 };
	if (n == 0)
		return SNIFF_WAIT;
	if (s->state == SNIFF_BEGIN)
		step = begin(s, p, n, ret_hello);
	if (step == SNIFF_PASS && s->left == 0)
		step = look(s, p, n, ret_hello);
	if (step != SNIFF_PASS)
		return step;
	*ret_n = s->left < n ? (size_t)s->left : n;
	s->left -= *ret_n;
	return SNIFF_PASS;
}

/* Bytes that could not be parsed are handled as opaque bytes: the caller allows them only if no
 * rule needs a name. */
void sniff_allow(struct sniff *s, const struct hello *h)
{
	if (h->kind == HELLO_OPAQUE || h->kind == HELLO_BAD) {
		s->state = SNIFF_OVER;
	} else if (s->state == SNIFF_HEAD) {
		pass(s, h->n + h->body, h->chunked ? SNIFF_CHUNK : SNIFF_HEAD);
	} else {
		s->early |= h->early;
		pass(s, h->n, SNIFF_RECORDS);
	}
}
