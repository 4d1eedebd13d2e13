#include "service/preview.h"

#include "service/python.h"

#define TAIL_BYTES (PREVIEW_CHARACTERS * 4u) /* a character has at most four bytes */

void preview_init(struct preview *p)
{
	/* the buffer is twice as long as the tail that we keep, so that we seldom have to move
	 * bytes */
	buf_init(&p->tail, PREVIEW_HELD_BYTES);
}

void preview_done(struct preview *p)
{
	buf_done(&p->tail);
}

void preview_add(struct preview *p, const void *bytes, size_t n)
{
	size_t skip = n > TAIL_BYTES ? n - TAIL_BYTES : 0;

	n -= skip;
	if (p->tail.n + n > p->tail.max)
		buf_drop(&p->tail, p->tail.n + n - TAIL_BYTES < p->tail.n
					   ? p->tail.n + n - TAIL_BYTES
					   : p->tail.n);
	buf_add(&p->tail, (const char *)bytes + skip, n);
	p->tail.failed = false; /* if there is no memory, the preview keeps its older text */
}

void preview_render(const struct preview *p, struct buf *out)
{
	AUTO_BUF text = BUF_INIT(3 * p->tail.n + 1);
	struct str s;
	size_t n;

	/* the first character may be incomplete, but it is cut off below */
	buf_add_utf8(&text, buf_str(&p->tail), p->tail.n);
	s = python_trim_end((struct str){ buf_str(&text), text.n });
	n = python_length(s);
	if (n > PREVIEW_CHARACTERS) {
		size_t skip = python_first(s, n - PREVIEW_CHARACTERS).n;

		s.p += skip;
		s.n -= skip;
	}
	buf_add(out, s.p, s.n);
}
