#include "files/window.h"

#include <string.h>

#define GROWTH 3u /* a byte that is not UTF-8 becomes three bytes */

void window_init(struct window *w, uint64_t first_line, uint64_t max_lines, size_t max_bytes)
{
	*w = (struct window){
		.first_line = first_line, .max_lines = max_lines, .max_bytes = max_bytes, .line = 1
	};
	buf_init(&w->part, max_bytes);
	buf_init(&w->content, (GROWTH + 1) * max_bytes);
}

void window_done(struct window *w)
{
	buf_done(&w->part);
	buf_done(&w->content);
}

/* Ends the window before a line that does not fit into max_bytes. Always returns false, which
 * window_add() passes on: the window wants no more. */
static bool end_by_bytes(struct window *w)
{
	w->limit = WINDOW_BYTES;
	w->too_long = w->taken == 0;
	return false;
}

/* Moves the line in w->part to the content. If it does not fit, ends the window and returns
 * false. */
static bool take_line(struct window *w)
{
	size_t before = w->content.n;

	buf_add_utf8(&w->content, buf_str(&w->part), w->part.n);
	if (w->content.n > w->max_bytes) {
		buf_cut(&w->content, before);
		return end_by_bytes(w);
	}
	w->at += w->part.n;
	w->line++;
	w->taken++;
	buf_clear(&w->part);
	return true;
}

bool window_add(struct window *w, const char *p, size_t n)
{
	while (n > 0) {
		const char *end = memchr(p, '\n', n);
		size_t m = end ? (size_t)(end - p) + 1 : n;

		if (w->limit != WINDOW_WHOLE)
			return false;
		if (w->line < w->first_line) {
			w->at += m;
			w->line += end != NULL;
		} else if (w->taken == w->max_lines) {
			w->limit = WINDOW_LINES;
			return false;
		} else if (m > w->max_bytes - w->part.n) {
			return end_by_bytes(w);
		} else {
			buf_add(&w->part, p, m);
			if (end && !take_line(w))
				return false;
		}
		p += m;
		n -= m;
	}
	return true;
}

void window_end(struct window *w)
{
	if (w->limit == WINDOW_WHOLE && w->part.n > 0)
		take_line(w);
}
