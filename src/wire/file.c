#include "wire/file.h"

#include <errno.h>
#include <string.h>

enum tag { TAG_OP = 1, TAG_FLAGS = 2, TAG_PATH = 3, TAG_NAME = 4 };

void file_encode(struct buf *b, const struct file_message *m)
{
	field_put_u64(b, TAG_OP, (uint64_t)m->op);
	field_put_u64(b, TAG_FLAGS, m->flags);
	field_put_str(b, TAG_PATH, m->path);
	if (m->name)
		field_put_str(b, TAG_NAME, m->name);
}

int file_decode(struct str body, struct file_message *ret)
{
	struct field f;
	uint64_t v;
	int r;

	*ret = (struct file_message){ 0 };
	while ((r = field_next(&body, &f)) > 0) {
		switch (f.tag) {
		case TAG_OP:
			if (!field_u64(&f, &v) || v == 0 || v >= FILE_OP_COUNT)
				return -EPROTO;
			ret->op = (enum file_op)v;
			break;
		case TAG_FLAGS:
			if (!field_u64(&f, &v) || v > UINT16_MAX)
				return -EPROTO;
			ret->flags = (unsigned)v;
			break;
		case TAG_PATH:
			ret->path = field_str(&f);
			break;
		case TAG_NAME:
			ret->name = field_str(&f);
			if (!ret->name || (*ret->name && !file_name_valid(ret->name)))
				return -EPROTO;
			break;
		}
	}
	return r < 0 || !ret->op || !ret->path || ret->path[0] != '/' ? -EPROTO : 0;
}

bool file_name_valid(const char *name)
{
	size_t n = strnlen(name, FILE_NAME_MAX_BYTES + 1);

	return n > 0 && n <= FILE_NAME_MAX_BYTES && !memchr(name, '/', n) &&
	       strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* --- decoding -------------------------------------------------------------------------------- */

static uint32_t get_u32(const char *p)
{
	const unsigned char *s = (const unsigned char *)p;

	return (uint32_t)s[0] | (uint32_t)s[1] << 8 | (uint32_t)s[2] << 16 | (uint32_t)s[3] << 24;
}

/* Copies N bytes to TO and adds a NUL. Returns false if N is more than MAX, or if one of the bytes
 * is NUL. */
static bool get_text(const char *p, size_t n, char *to, size_t max)
{
	if (n > max || memchr(p, '\0', n))
		return false;
	memcpy(to, p, n);
	to[n] = '\0';
	return true;
}

static bool get_named(struct str body, struct file_record *r)
{
	if (body.n < 4)
		return false;
	r->mode = get_u32(body.p);
	if (r->mode > 07777 || !get_text(body.p + 4, body.n - 4, r->name, FILE_NAME_MAX_BYTES))
		return false;
	return file_name_valid(r->name) || r->name[0] == '\0';
}

static bool get_link(struct str body, struct file_record *r)
{
	uint32_t n;

	if (body.n < 4)
		return false;
	n = get_u32(body.p);
	if (n > body.n - 4 || !get_text(body.p + 4, n, r->name, FILE_NAME_MAX_BYTES))
		return false;
	return file_name_valid(r->name) && body.n - 4 - n > 0 &&
	       get_text(body.p + 4 + n, body.n - 4 - n, r->target, FILE_TARGET_MAX_BYTES);
}

static bool get_same(struct str body, struct file_record *r)
{
	if (body.n < 4)
		return false;
	r->number = get_u32(body.p);
	return get_text(body.p + 4, body.n - 4, r->name, FILE_NAME_MAX_BYTES) &&
	       file_name_valid(r->name);
}

static bool get_fail(struct str body, struct file_record *r)
{
	if (body.n < 4)
		return false;
	r->code = get_u32(body.p);
	return r->code < ERR_CODE_COUNT &&
	       get_text(body.p + 4, body.n - 4, r->text, FILE_TEXT_MAX_BYTES);
}

static bool get_body(struct str body, struct file_record *r)
{
	switch (r->type) {
	case FILE_DIR:
	case FILE_FILE:
		return get_named(body, r);
	case FILE_LINK:
		return get_link(body, r);
	case FILE_DATA:
		r->data = body;
		return body.n > 0;
	case FILE_HOLE:
		if (body.n != 8)
			return false;
		r->size = get_u32(body.p) | (uint64_t)get_u32(body.p + 4) << 32;
		return r->size <= INT64_MAX;
	case FILE_NOTE:
	case FILE_MISS:
		return get_text(body.p, body.n, r->text, FILE_TEXT_MAX_BYTES);
	case FILE_FAIL:
		return get_fail(body, r);
	case FILE_SAME:
		return get_same(body, r);
	case FILE_END:
	case FILE_DONE:
	case FILE_SHARED:
		return body.n == 0;
	}
	return false;
}

int file_record_next(struct str *in, struct file_record *ret)
{
	uint32_t n;

	if (in->n < FILE_RECORD_HEADER_BYTES)
		return 0;
	n = get_u32(in->p + 1);
	if (n > FILE_RECORD_MAX_BYTES)
		return -EPROTO;
	if (in->n - FILE_RECORD_HEADER_BYTES < n)
		return 0;
	ret->type = (enum file_record_type)(unsigned char)in->p[0];
	ret->name[0] = ret->target[0] = ret->text[0] = '\0';
	if (!get_body((struct str){ in->p + FILE_RECORD_HEADER_BYTES, n }, ret))
		return -EPROTO;
	in->p += FILE_RECORD_HEADER_BYTES + n;
	in->n -= FILE_RECORD_HEADER_BYTES + n;
	return 1;
}

/* --- encoding -------------------------------------------------------------------------------- */

static void put_u32(struct buf *b, uint32_t v)
{
	char le[4];

	for (unsigned i = 0; i < 4; i++)
		le[i] = (char)(v >> (8 * i));
	buf_add(b, le, sizeof(le));
}

static void put_header(struct buf *b, enum file_record_type type, size_t n)
{
	buf_add_char(b, (char)type);
	put_u32(b, (uint32_t)n);
}

static void put_named(struct buf *b, enum file_record_type type, unsigned mode, const char *name)
{
	size_t n = strlen(name);

	put_header(b, type, 4 + n);
	put_u32(b, mode);
	buf_add(b, name, n);
}

void file_put_dir(struct buf *b, unsigned mode, const char *name)
{
	put_named(b, FILE_DIR, mode, name);
}

void file_put_file(struct buf *b, unsigned mode, const char *name)
{
	put_named(b, FILE_FILE, mode, name);
}

void file_put_link(struct buf *b, const char *name, const char *target)
{
	size_t n = strlen(name), n_target = strlen(target);

	put_header(b, FILE_LINK, 4 + n + n_target);
	put_u32(b, (uint32_t)n);
	buf_add(b, name, n);
	buf_add(b, target, n_target);
}

void file_put_data(struct buf *b, const void *p, size_t n)
{
	put_header(b, FILE_DATA, n);
	buf_add(b, p, n);
}

void file_put_hole(struct buf *b, uint64_t n)
{
	put_header(b, FILE_HOLE, 8);
	put_u32(b, (uint32_t)n);
	put_u32(b, (uint32_t)(n >> 32));
}

void file_put_end(struct buf *b)
{
	put_header(b, FILE_END, 0);
}

void file_put_note(struct buf *b, enum file_record_type type, const char *text)
{
	size_t n = strnlen(text, FILE_TEXT_MAX_BYTES);

	put_header(b, type, n);
	buf_add(b, text, n);
}

void file_put_fail(struct buf *b, unsigned code, const char *text)
{
	size_t n = strnlen(text, FILE_TEXT_MAX_BYTES);

	put_header(b, FILE_FAIL, 4 + n);
	put_u32(b, code);
	buf_add(b, text, n);
}

void file_put_done(struct buf *b)
{
	put_header(b, FILE_DONE, 0);
}

void file_put_shared(struct buf *b)
{
	put_header(b, FILE_SHARED, 0);
}

void file_put_same(struct buf *b, uint32_t number, const char *name)
{
	put_named(b, FILE_SAME, number, name);
}
