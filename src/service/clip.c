#include "service/clip.h"

#include <stdio.h>

#include "service/python.h"

#define NOTICE_BYTES 96
#define ROUNDS \
	4 /* the lengths of notice and kept text depend on each other; this many tries find both */

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

/* Returns false if only the notice fits into the limit. */
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
	/* if the number in the final notice has one digit more, the text exceeds the limit; shorten
	 * the text */
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
