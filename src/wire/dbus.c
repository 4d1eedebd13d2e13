#include "wire/dbus.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define HEADER_BYTES 16u /* the bytes before the first header field */
#define PROTOCOL_VERSION 1
#define FLAG_NO_AUTO_START 2

enum field {
	FIELD_PATH = 1,
	FIELD_INTERFACE,
	FIELD_MEMBER,
	FIELD_ERROR,
	FIELD_REPLY_SERIAL,
	FIELD_DESTINATION,
	FIELD_SENDER,
	FIELD_SIGNATURE,
};

/* --- login ----------------------------------------------------------------------------------- */

/* Writes the login. D-Bus wants the decimal text of UID in hexadecimal: for the UID 10, the text is
 * "10" and the login has "3130". */
void dbus_put_login(struct buf *b, uint32_t uid)
{
	AUTO_BUF digits = BUF_INIT(16);

	buf_add_char(b, '\0'); /* the kernel sends the credentials with this byte */
	buf_add_str(b, "AUTH EXTERNAL ");
	buf_addf(&digits, "%u", uid);
	for (size_t i = 0; i < digits.n; i++)
		buf_addf(b, "%02x", (unsigned)(unsigned char)digits.p[i]);
	buf_add_str(b, "\r\n");
}

int dbus_login_answer(struct str *in)
{
	static const char good[] = "OK ", refused[] = "REJECTED";
	const char *end = in->n ? memchr(in->p, '\n', in->n) : NULL;
	size_t n;

	if (!end)
		return in->n > DBUS_LOGIN_LINE_MAX_BYTES ? -EPROTO : 0;
	n = (size_t)(end - in->p);
	if (n == 0 || n > DBUS_LOGIN_LINE_MAX_BYTES || in->p[n - 1] != '\r')
		return -EPROTO;
	if (n >= sizeof(refused) - 1 && memcmp(in->p, refused, sizeof(refused) - 1) == 0)
		return -EACCES;
	if (n < sizeof(good) - 1 || memcmp(in->p, good, sizeof(good) - 1) != 0)
		return -EPROTO;
	in->p += n + 1;
	in->n -= n + 1;
	return 1;
}

void dbus_put_begin(struct buf *b)
{
	buf_add_str(b, "BEGIN\r\n");
}

/* --- out ------------------------------------------------------------------------------------- */

static void put_u32_raw(struct buf *b, uint32_t v)
{
	const unsigned char bytes[4] = { (unsigned char)v, (unsigned char)(v >> 8),
					 (unsigned char)(v >> 16), (unsigned char)(v >> 24) };

	buf_add(b, bytes, sizeof(bytes));
}

/* Adds zeros until the length of B, counted from START, is a multiple of ALIGN, which is a power of
 * two. */
static void pad(struct buf *b, size_t start, size_t align)
{
	buf_add_fill(b, '\0', -(b->n - start) & (align - 1));
}

static void put_text(struct buf *b, const char *s)
{
	size_t n = strlen(s);

	put_u32_raw(b, (uint32_t)n);
	buf_add(b, s, n + 1);
}

static void put_signature(struct buf *b, const char *type)
{
	size_t n = strlen(type);

	assert(n < 256);
	buf_add_char(b, (char)n);
	buf_add(b, type, n + 1);
}

void dbus_put_u32(struct buf *body, uint32_t v)
{
	pad(body, 0, 4);
	put_u32_raw(body, v);
}

void dbus_put_string(struct buf *body, const char *s)
{
	pad(body, 0, 4);
	put_text(body, s);
}

void dbus_put_struct(struct buf *body)
{
	pad(body, 0, 8);
}

void dbus_put_variant(struct buf *body, const char *type)
{
	put_signature(body, type);
}

static void set_u32(struct buf *b, size_t at, size_t v)
{
	if (buf_failed(b))
		return;
	for (unsigned i = 0; i < 4; i++)
		b->p[at + i] = (char)(v >> 8 * i);
}

size_t dbus_begin_array(struct buf *body, size_t align)
{
	size_t at;

	pad(body, 0, 4);
	at = body->n;
	put_u32_raw(body, 0);
	pad(body, 0, align); /* an empty array has this padding too */
	return at;
}

/* Sets the array's length, which does not count the padding before the first element. */
void dbus_end_array(struct buf *body, size_t at, size_t align)
{
	size_t first = (at + 4 + align - 1) & ~(align - 1);

	set_u32(body, at, body->n - first);
}

static void put_field(struct buf *b, size_t start, enum field code, const char *type,
		      const char *value)
{
	pad(b, start, 8);
	buf_add_char(b, (char)code);
	put_signature(b, type);
	if (*type == 'g') {
		put_signature(b, value);
		return;
	}
	pad(b, start, 4);
	put_text(b, value);
}

void dbus_put_call(struct buf *b, const struct dbus_call *c, const struct buf *body)
{
	size_t start = b->n;

	assert(!buf_failed(body));
	buf_add_char(b, 'l');
	buf_add_char(b, DBUS_CALL);
	buf_add_char(b, FLAG_NO_AUTO_START);
	buf_add_char(b, PROTOCOL_VERSION);
	put_u32_raw(b, (uint32_t)body->n);
	put_u32_raw(b, c->serial);
	put_u32_raw(b, 0);
	put_field(b, start, FIELD_PATH, "o", c->path);
	put_field(b, start, FIELD_INTERFACE, "s", c->interface);
	put_field(b, start, FIELD_MEMBER, "s", c->member);
	put_field(b, start, FIELD_DESTINATION, "s", c->destination);
	if (*c->signature)
		put_field(b, start, FIELD_SIGNATURE, "g", c->signature);
	set_u32(b, start + HEADER_BYTES - 4, b->n - start - HEADER_BYTES);
	pad(b, start, 8);
	buf_add(b, body->p, body->n);
}

/* --- in -------------------------------------------------------------------------------------- */

static uint32_t u32_at(const char *p, bool big_endian)
{
	const unsigned char *u = (const unsigned char *)p;

	return big_endian
		       ? (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3]
		       : (uint32_t)u[3] << 24 | (uint32_t)u[2] << 16 | (uint32_t)u[1] << 8 | u[0];
}

/* Returns the next N bytes at a multiple of ALIGN. If fewer bytes are left, if the padding is not
 * zero, or if an earlier read has failed, sets r->bad and returns NULL. */
static const char *take(struct dbus_reader *r, size_t n, size_t align)
{
	size_t padding = -r->at & (align - 1);
	const char *p;

	if (r->bad || r->s.n - r->at < padding || r->s.n - r->at - padding < n) {
		r->bad = true;
		return NULL;
	}
	for (size_t i = 0; i < padding; i++)
		r->bad |= r->s.p[r->at + i] != '\0';
	p = r->s.p + r->at + padding;
	r->at += padding + n;
	return r->bad ? NULL : p;
}

static struct str take_text(struct dbus_reader *r, size_t n)
{
	const char *p = n < DBUS_MESSAGE_MAX_BYTES ? take(r, n + 1, 1) : NULL;

	if (!p || memchr(p, '\0', n + 1) != p + n) {
		r->bad = true;
		return (struct str){ "", 0 };
	}
	return (struct str){ p, n };
}

uint32_t dbus_get_u32(struct dbus_reader *r)
{
	const char *p = take(r, 4, 4);

	return p ? u32_at(p, r->big_endian) : 0;
}

struct str dbus_get_string(struct dbus_reader *r)
{
	uint32_t n = dbus_get_u32(r);

	return take_text(r, n);
}

static unsigned get_byte(struct dbus_reader *r)
{
	const char *p = take(r, 1, 1);

	return p ? (unsigned char)*p : 0;
}

struct str dbus_get_variant(struct dbus_reader *r)
{
	unsigned n = get_byte(r);

	return take_text(r, n);
}

/* Returns the member of M for the text of this header field, or NULL if M has none. */
static struct str *text_field(struct dbus_message *m, unsigned code, char type)
{
	switch (code) {
	case FIELD_PATH:
		return type == 'o' ? &m->path : NULL;
	case FIELD_INTERFACE:
		return type == 's' ? &m->interface : NULL;
	case FIELD_MEMBER:
		return type == 's' ? &m->member : NULL;
	case FIELD_ERROR:
		return type == 's' ? &m->error : NULL;
	case FIELD_SENDER:
		return type == 's' ? &m->sender : NULL;
	case FIELD_SIGNATURE:
		return type == 'g' ? &m->signature : NULL;
	default:
		return NULL;
	}
}

/* Reads one header field. If M has a member for a field of this code and type, stores the value
 * there; otherwise skips the field. Sets r->bad if the field is malformed, or if its type is none
 * of o, s, g and u, because this code cannot skip values of other types. */
static void read_field(struct dbus_reader *r, struct dbus_message *m)
{
	struct str type, text, *kept;
	unsigned code;
	uint32_t v;

	take(r, 0, 8);
	code = get_byte(r);
	type = dbus_get_variant(r);
	if (type.n != 1 || !strchr("osgu", *type.p)) {
		r->bad = true;
	} else if (*type.p == 'u') {
		v = dbus_get_u32(r);
		if (code == FIELD_REPLY_SERIAL)
			m->reply_serial = v;
	} else {
		text = *type.p == 'g' ? dbus_get_variant(r) : dbus_get_string(r);
		kept = text_field(m, code, *type.p);
		if (kept)
			*kept = text;
	}
}

int dbus_next(struct str *in, struct dbus_message *ret)
{
	struct dbus_message m = { .type = 0 };
	struct dbus_reader r;
	size_t fields, body, head;

	if (in->n < HEADER_BYTES)
		return 0;
	if ((in->p[0] != 'l' && in->p[0] != 'B') || in->p[3] != PROTOCOL_VERSION || in->p[1] == 0)
		return -EPROTO;
	m.big_endian = in->p[0] == 'B';
	m.type = (unsigned char)in->p[1];
	body = u32_at(in->p + 4, m.big_endian);
	fields = u32_at(in->p + 12, m.big_endian);
	if (u32_at(in->p + 8, m.big_endian) == 0 || body > DBUS_MESSAGE_MAX_BYTES ||
	    fields > DBUS_MESSAGE_MAX_BYTES)
		return -EPROTO;
	head = (HEADER_BYTES + fields + 7) & ~(size_t)7;
	if (head + body > DBUS_MESSAGE_MAX_BYTES)
		return -EPROTO;
	if (in->n < head + body)
		return 0;
	r = (struct dbus_reader){ .s = { in->p, HEADER_BYTES + fields },
				  .at = HEADER_BYTES,
				  .big_endian = m.big_endian };
	while (!r.bad && r.at < r.s.n)
		read_field(&r, &m);
	if (r.bad)
		return -EPROTO;
	m.body = (struct str){ in->p + head, body };
	in->p += head + body;
	in->n -= head + body;
	*ret = m;
	return 1;
}

struct dbus_reader dbus_read(const struct dbus_message *m)
{
	return (struct dbus_reader){ .s = m->body, .big_endian = m->big_endian };
}
