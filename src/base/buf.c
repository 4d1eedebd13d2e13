#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

#define BUF_FIRST_BYTES 128 /* most messages and paths fit the first allocation */

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf)BUF_INIT(max);
}

static void forget(struct buf *b)
{
	if (b->secret && b->p)
		explicit_bzero(b->p, b->cap + 1);
	if (!b->lent)
		free(b->p);
}

void buf_done(struct buf *b)
{
	if (!b)
		return;
	forget(b);
	b->p = NULL;
	b->n = b->cap = 0;
	b->lent = false;
}

void buf_clear(struct buf *b)
{
	b->n = 0;
	b->failed = false;
	if (b->p)
		b->p[0] = '\0';
}

const char *buf_str(const struct buf *b)
{
	return b->p ? b->p : "";
}

char *buf_take(struct buf *b)
{
	char *p = !b->p ? xstrdup("") : b->lent ? xstrdup(b->p) : b->p;

	b->p = NULL;
	b->n = b->cap = 0;
	b->lent = false;
	return p;
}

void *buf_room(struct buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : BUF_FIRST_BYTES;
	bool copy;
	char *p;

	if (b->failed)
		return NULL;
	if (n > b->max - b->n) {
		b->failed = true;
		return NULL;
	}
	if (b->p && n <= b->cap - b->n)
		return b->p + b->n;
	while (cap - b->n < n)
		cap = cap > b->max / 2 ? b->max : cap * 2;
	/* realloc() must not get lent memory, and would not overwrite the old copy of a secret */
	copy = b->lent || b->secret;
	p = realloc(copy ? NULL : b->p, cap + 1);
	if (!p) {
		b->failed = true;
		return NULL;
	}
	if (copy && b->p) {
		memcpy(p, b->p, b->n + 1);
		forget(b);
	}
	b->lent = false;
	b->p = p;
	b->cap = cap;
	return b->p + b->n;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
	char *room = buf_room(b, n);

	if (!room)
		return;
	if (n)
		memcpy(room, p, n);
	b->n += n;
	b->p[b->n] = '\0';
}

void buf_add_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_add_char(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_add_shell_word(struct buf *b, const char *s)
{
	buf_add_char(b, '\'');
	for (; *s; s++)
		if (*s == '\'')
			buf_add_str(b, "'\\''");
		else
			buf_add_char(b, *s);
	buf_add_char(b, '\'');
}

void buf_add_fill(struct buf *b, char c, size_t n)
{
	char *room = buf_room(b, n);

	if (!room)
		return;
	memset(room, c, n);
	b->n += n;
	b->p[b->n] = '\0';
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;
	char *room;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	room = n < 0 ? NULL : buf_room(b, (size_t)n);
	if (!room) {
		b->failed = true;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(room, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->n += (size_t)n;
}

/* Returns true if the well-formed character at S is invisible, and hides or reorders the text
 * around it: a zero-width space, a control of the writing direction, a line separator or a tag.
 * Returns false for the joiners U+200C and U+200D, because some scripts and emoji need them. */
static bool is_deceptive(const char *s)
{
	const unsigned char *c = (const unsigned char *)s;

	switch (c[0]) {
	case 0xd8: /* U+061C */
		return c[1] == 0x9c;
	case 0xe2:
		if (c[1] == 0x80) /* U+200B, U+200E, U+200F, U+2028 to U+202E */
			return c[2] == 0x8b || c[2] == 0x8e || c[2] == 0x8f ||
			       (c[2] >= 0xa8 && c[2] <= 0xae);
		return c[1] == 0x81 && c[2] >= 0xa0 && c[2] <= 0xaf; /* U+2060 to U+206F */
	case 0xef:                                                   /* U+FEFF */
		return c[1] == 0xbb && c[2] == 0xbf;
	case 0xf3: /* U+E0000 to U+E0FFF */
		return c[1] == 0xa0;
	default:
		return false;
	}
}

/* Returns the length of the character at S, or 0 if it is malformed or not printable. Reads at most
 * MAX bytes. */
static size_t printable(const char *s, size_t max)
{
	unsigned char c = (unsigned char)*s;
	size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

	if (c < 0x20 || c == 0x7f || n > max || !utf8_valid(s, n))
		return 0;
	if (c == 0xc2 && (unsigned char)s[1] < 0xa0) /* the C1 controls */
		return 0;
	return n > 1 && is_deceptive(s) ? 0 : n;
}

void buf_add_clean_n(struct buf *b, const char *p, size_t n, const char *keep)
{
	const char *end = p + n, *from = p; /* `from` is the first byte that is not added yet */

	while (p < end) {
		size_t k = *p && strchr(keep, *p) ? 1 : printable(p, (size_t)(end - p));

		if (k == 0) {
			buf_add(b, from, (size_t)(p - from));
			buf_addf(b, "\\x%02x", (unsigned char)*p++);
			from = p;
		}
		p += k;
	}
	buf_add(b, from, (size_t)(p - from));
}

void buf_add_clean(struct buf *b, const char *s)
{
	buf_add_clean_n(b, s, strlen(s), "");
}

void buf_add_cut(struct buf *b, const char *s, size_t width)
{
	size_t dots = *utf8_skip(s, width) ? (width > 3 ? 3 : width) : 0;

	buf_add(b, s, (size_t)(utf8_skip(s, width - dots) - s));
	buf_add_fill(b, '.', dots);
}

void buf_add_utf8(struct buf *b, const char *p, size_t n)
{
	while (n) {
		bool bad;
		size_t good = utf8_prefix(p, n, &bad);

		buf_add(b, p, good);
		p += good;
		n -= good;
		if (n) {
			size_t k = (size_t)-utf8_step(p, n);

			buf_add_str(b, "\xef\xbf\xbd");
			p += k;
			n -= k;
		}
	}
}

void buf_drop(struct buf *b, size_t n)
{
	if (n == 0)
		return;
	memmove(b->p, b->p + n, b->n - n);
	b->n -= n;
	b->p[b->n] = '\0';
}

void buf_cut(struct buf *b, size_t n)
{
	b->n = n;
	if (b->p)
		b->p[n] = '\0';
}
