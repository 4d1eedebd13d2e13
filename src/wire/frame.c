#include "wire/frame.h"

#include <errno.h>
#include <string.h>

static uint32_t get_u32(const char *p)
{
	const unsigned char *s = (const unsigned char *)p;

	return (uint32_t)s[0] | (uint32_t)s[1] << 8 | (uint32_t)s[2] << 16 | (uint32_t)s[3] << 24;
}

static void put_u32(char *p, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		p[i] = (char)(v >> (8 * i));
}

int frame_next(struct str *in, struct frame *ret)
{
	uint32_t n;

	if (in->n < FRAME_HEADER_BYTES)
		return 0;
	n = get_u32(in->p);
	if (n > FRAME_BODY_MAX_BYTES || in->p[6] || in->p[7])
		return -EPROTO;
	if (in->n - FRAME_HEADER_BYTES < n)
		return 0;
	ret->type = (enum frame_type)(unsigned char)in->p[4];
	ret->flags = (unsigned char)in->p[5];
	ret->stream = get_u32(in->p + 8);
	ret->body = (struct str){ in->p + FRAME_HEADER_BYTES, n };
	in->p += FRAME_HEADER_BYTES + n;
	in->n -= FRAME_HEADER_BYTES + n;
	return 1;
}

int frame_feed(struct buf *in, const void *p, size_t n, frame_fn *fn, void *arg)
{
	struct frame f;
	struct str rest;
	int r;

	if (n > in->max - in->n)
		return -EPROTO;
	/* if IN is empty, do not copy the bytes to IN now: the loop below reads the frames at P */
	if (in->n && n)
		buf_add(in, p, n);
	if (buf_failed(in))
		return -EPROTO;
	rest = in->n ? (struct str){ in->p, in->n } : (struct str){ p, n };
	while ((r = frame_next(&rest, &f)) > 0) {
		r = fn(arg, &f);
		if (r == FRAME_PAUSE)
			break;
		if (r)
			return r;
	}
	if (r < 0)
		return r;
	if (in->n)
		buf_drop(in, in->n - rest.n);
	else if (rest.n)
		buf_add(in, rest.p, rest.n);
	return buf_failed(in) ? -EPROTO : 0;
}

size_t frame_begin(struct buf *b, enum frame_type type, unsigned flags, uint32_t stream)
{
	size_t at = b->n;
	char head[FRAME_HEADER_BYTES] = { 0 };

	head[4] = (char)type;
	head[5] = (char)flags;
	put_u32(head + 8, stream);
	buf_add(b, head, sizeof(head));
	return at;
}

void frame_end(struct buf *b, size_t at)
{
	size_t n;

	if (buf_failed(b))
		return;
	n = b->n - at - FRAME_HEADER_BYTES;
	if (n > FRAME_BODY_MAX_BYTES) {
		b->failed = true;
		return;
	}
	put_u32(b->p + at, (uint32_t)n);
}

void frame_put(struct buf *b, enum frame_type type, unsigned flags, uint32_t stream, const void *p,
	       size_t n)
{
	size_t at = frame_begin(b, type, flags, stream);

	buf_add(b, p, n);
	frame_end(b, at);
}

void field_put(struct buf *b, uint8_t tag, const void *p, size_t n)
{
	char head[5] = { (char)tag };

	if (n > FRAME_BODY_MAX_BYTES) {
		b->failed = true;
		return;
	}
	put_u32(head + 1, (uint32_t)n);
	buf_add(b, head, sizeof(head));
	buf_add(b, p, n);
}

void field_put_str(struct buf *b, uint8_t tag, const char *s)
{
	field_put(b, tag, s, strlen(s) + 1);
}

void field_put_u64(struct buf *b, uint8_t tag, uint64_t v)
{
	char le[8];

	put_u32(le, (uint32_t)v);
	put_u32(le + 4, (uint32_t)(v >> 32));
	field_put(b, tag, le, sizeof(le));
}

int field_next(struct str *body, struct field *ret)
{
	uint32_t n;

	if (body->n == 0)
		return 0;
	if (body->n < 5)
		return -EPROTO;
	n = get_u32(body->p + 1);
	if (body->n - 5 < n)
		return -EPROTO;
	ret->tag = (unsigned char)body->p[0];
	ret->value = (struct str){ body->p + 5, n };
	body->p += 5 + n;
	body->n -= 5 + n;
	return 1;
}

const char *field_str(const struct field *f)
{
	if (f->value.n == 0 || memchr(f->value.p, '\0', f->value.n) != f->value.p + f->value.n - 1)
		return NULL;
	return f->value.p;
}

bool field_u64(const struct field *f, uint64_t *ret)
{
	if (f->value.n != 8)
		return false;
	*ret = get_u32(f->value.p) | (uint64_t)get_u32(f->value.p + 4) << 32;
	return true;
}
