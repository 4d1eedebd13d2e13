#include "service/clip.h"

#include <stdio.h>

#include "service/python.h"

#define NOTICE_BYTES 96
/* The notice tells how many characters are cut out, so its length depends on the length of the kept
 * text. The kept text gets the room that the notice leaves. find_cut() computes both in turn, at
 * most this many times. */
#define ROUNDS 4

/* How a text of N characters is cut. */
struct cut {
	size_t head, tail;
	char notice[NOTICE_BYTES];
	size_t n_notice;
};

static void write_notice(struct cut *c, size_t n)
{
	c->n_notice = (size_t)snprintf(c->notice, sizeof(c->notice),
				       "\n\n... [%zu characters truncated] ...\n\n",
				       n - c->head - c->tail);
}

/* Computes the cut of a text of N characters: how much stays at its beginning and its end, and the
 * notice. Returns false if the notice leaves no room for any character of the text. */
static bool find_cut(struct cut *c, size_t n, size_t limit)
{
	*c = (struct cut){ 0 };
	for (unsigned round = 0; round < ROUNDS; round++) {
		size_t room, head;

		write_notice(c, n);
		if (c->n_notice >= limit)
			return false;
		room = limit - c->n_notice;
		head = room * 6 / 10;
		if (head == c->head && room - head == c->tail)
			break;
		c->head = head;
		c->tail = room - head;
	}
	write_notice(c, n);
	/* The last notice can be one digit longer than the notice for which the room was computed.
	 * Then all parts together exceed the limit, and the tail must be shorter. */
	while (c->head + c->tail + c->n_notice > limit) {
		c->tail--;
		write_notice(c, n);
	}
	return true;
}

bool clip_text(struct str text, int64_t limit, struct buf *out)
{
	size_t n = python_length(text);
	struct str head;
	struct cut c;

	if (limit >= 0 && n <= (size_t)limit) {
		buf_add(out, text.p, text.n);
		return false;
	}
	if (limit <= 0)
		return true;
	if (!find_cut(&c, n, (size_t)limit)) {
		buf_add(out, c.notice, c.n_notice < (size_t)limit ? c.n_notice : (size_t)limit);
		return true;
	}
	head = python_first(text, c.head);
	buf_add(out, head.p, head.n);
	buf_add(out, c.notice, c.n_notice);
	head = python_first(text, n - c.tail);
	buf_add(out, text.p + head.n, text.n - head.n);
	return true;
}
