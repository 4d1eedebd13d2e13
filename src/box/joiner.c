#include "box/joiner.h"

#include <errno.h>

#define KEEP_BYTES (64u << 10) /* the most memory that stays allocated between messages */

void joiner_init(struct joiner *j)
{
	*j = (struct joiner){ 0 };
	buf_init(&j->text, JOINER_MESSAGE_MAX_BYTES);
}

void joiner_done(struct joiner *j)
{
	buf_done(&j->text);
}

size_t joiner_held_bytes(const struct joiner *j)
{
	return j->text.cap;
}

/* Counts the open brackets of PART, outside of strings. */
static void follow(struct joiner *j, struct str part)
{
	for (size_t i = 0; i < part.n; i++) {
		char c = part.p[i];

		if (j->escaped)
			j->escaped = false;
		else if (j->quoted && c == '\\')
			j->escaped = true;
		else if (c == '"')
			j->quoted = !j->quoted;
		else if (j->quoted)
			continue;
		else if (c == '{' || c == '[')
			j->depth++;
		else if ((c == '}' || c == ']') && j->depth)
			j->depth--;
	}
}

static void forget(struct joiner *j)
{
	if (j->text.cap > KEEP_BYTES)
		buf_done(&j->text);
	buf_clear(&j->text);
	j->depth = 0;
	j->quoted = j->escaped = j->delivered = false;
}

/* Returns true if the text may be the beginning of an object. */
static bool begins_object(struct str s)
{
	while (s.n && strchr(" \t\r\n", *s.p)) {
		s.p++;
		s.n--;
	}
	return s.n && *s.p == '{';
}

int joiner_add(struct joiner *j, struct str part, struct str *ret)
{
	if (j->delivered)
		forget(j);
	if (j->text.n == 0 && !begins_object(part)) {
		*ret = part;
		return 1;
	}
	if (part.n > j->text.max - j->text.n)
		return -EPROTO;
	follow(j, part);
	if (j->text.n == 0 && j->depth == 0) {
		j->delivered = true;
		*ret = part;
		return 1;
	}
	buf_add(&j->text, part.p, part.n);
	if (buf_failed(&j->text))
		return -EPROTO;
	if (j->depth)
		return 0;
	j->delivered = true;
	*ret = (struct str){ j->text.p, j->text.n };
	return 1;
}
