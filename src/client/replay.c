#include "client/replay.h"

#include <string.h>

#include "base/cleanup.h"

void replay_begin(struct replay *r, const struct attached_message *m)
{
	*r = (struct replay){ .waits = true, .kept = m->kept, .fresh = m->fresh };
	buf_init(&r->out, BACKGROUND_OUTPUT_BYTES);
	screen_feed(&r->now, m->screen.p, m->screen.n);
}

void replay_add(struct replay *r, const char *p, size_t n)
{
	buf_add(&r->out, p, n);
}

bool replay_is_complete(const struct replay *r)
{
	return r->out.n >= r->kept;
}

void replay_done(struct replay *r)
{
	buf_done(&r->out);
	r->waits = false;
}

/* Returns whether the alternate screen was on before the first byte of the output. */
static bool began_alternate(const struct replay *r)
{
	struct screen s[2] = { { 0 }, { 0 } };

	screen_feed(&s[1], "\033[?1049h", 8);
	/* s[0] begins on the ordinary screen, s[1] on the alternate screen. If the first switch in
	 * the output leads to the alternate screen, s[0] changes, and the output began on the
	 * ordinary screen. If the first switch leads back, s[1] changes, and the output began on
	 * the alternate screen. */
	for (size_t i = 0; i < r->out.n; i++) {
		screen_take(&s[0], (unsigned char)r->out.p[i]);
		screen_take(&s[1], (unsigned char)r->out.p[i]);
		if (screen_is_alternate(&s[0]))
			return false;
		if (!screen_is_alternate(&s[1]))
			return true;
	}
	return screen_is_alternate(&r->now);
}

/* Adds to TEXT what was printed on the ordinary screen since the screen was last erased. Returns
 * the offset in TEXT of the first output that no client has got before. */
static size_t add_ordinary(const struct replay *r, struct buf *text)
{
	size_t fresh_at = r->out.n > r->fresh ? r->out.n - r->fresh : 0, fresh = 0, begin = 0;
	size_t letter = 0; /* where in TEXT the current character begins */
	struct screen s = { 0 };

	if (began_alternate(r))
		screen_feed(&s, "\033[?1049h", 8);
	for (size_t i = 0; i < r->out.n; i++) {
		bool within = s.state != 0 || r->out.p[i] == '\033';
		enum screen_event event;

		if (!s.follow)
			letter = text->n;
		/* begin with a whole character: some terminals would take the last bytes of a
		 * character for a control character */
		if (i == fresh_at)
			fresh = letter;
		/* An ESC always begins a new sequence. If the previous sequence is unfinished, TEXT
		 * does not get it. */
		if (s.state == 0 || r->out.p[i] == '\033')
			begin = i;
		event = screen_take(&s, (unsigned char)r->out.p[i]);
		if (screen_is_alternate(&s) || (within && event == SCREEN_WITHIN))
			continue;
		if (event == SCREEN_TEXT || event == SCREEN_DRAW) {
			buf_add(text, r->out.p + begin, i + 1 - begin);
		} else if (event == SCREEN_CLEAR) {
			buf_clear(text);
			fresh = 0;
		}
	}
	return fresh_at < r->out.n ? fresh : text->n;
}

/* Returns where the last ROWS lines of TEXT begin. */
static size_t last_lines(const struct buf *text, unsigned rows)
{
	size_t at = text->n;

	for (unsigned lines = 0; at > 0; at--)
		if (text->p[at - 1] == '\n' && ++lines >= rows)
			break;
	return at;
}

void replay_show(struct replay *r, unsigned rows, struct screen *s, struct buf *text)
{
	AUTO_BUF all = BUF_INIT(BACKGROUND_OUTPUT_BYTES);
	size_t fresh = add_ordinary(r, &all), tail = last_lines(&all, rows);
	size_t at = fresh < tail ? fresh : tail;

	if (at < all.n)
		buf_add(text, all.p + at, all.n - at);
	screen_enter(&r->now, text);
	*s = (struct screen){ 0 };
	/* TEXT may also set colours, which are not in r->now. So we derive *S from all of TEXT. */
	screen_feed(s, text->p, text->n);
}
