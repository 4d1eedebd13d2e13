#include "service/capture.h"

#include <inttypes.h>
#include <string.h>

#include "service/python.h"

/* A capture first takes this many bytes from the ceiling, because most commands print less. The
 * capture gets these bytes even if the ceiling is near, but not if fewer bytes are left. */
#define FIRST_BYTES 4096u
#define NOTICE_MAX_BYTES 256u

void capture_init(struct capture *c, struct ceiling *ceiling, size_t limit)
{
	*c = (struct capture){ .ceiling = ceiling };
	buf_init(&c->head, limit);
}

void capture_done(struct capture *c)
{
	if (!c)
		return;
	if (c->ceiling)
		ceiling_give(c->ceiling, c->taken);
	buf_done(&c->head);
	*c = (struct capture){ 0 };
}

/* Makes sure that C has taken enough bytes from the ceiling for N more bytes of output. Each time
 * c->taken is too small, doubles it, because the buffer doubles its memory too. Returns false, and
 * takes nothing, if the ceiling does not allow this. */
static bool grow(struct capture *c, size_t n)
{
	size_t want = c->taken ? c->taken : FIRST_BYTES, more;

	while (want < c->head.n + n)
		want *= 2;
	if (want > c->head.max)
		want = c->head.max;
	if (want <= c->taken)
		return true;
	more = want - c->taken;
	if (!(want <= FIRST_BYTES ? ceiling_take(c->ceiling, more)
				  : ceiling_take_share(c->ceiling, more)))
		return false;
	c->taken = want;
	return true;
}

void capture_add(struct capture *c, const void *p, size_t n)
{
	size_t room = c->dropped ? 0 : c->head.max - c->head.n, keep = n < room ? n : room;

	if (keep && !grow(c, keep)) {
		/* keep only the part of the output for which earlier calls took bytes from the
		 * ceiling */
		keep = c->taken - c->head.n < keep ? c->taken - c->head.n : keep;
		c->squeezed = true;
	}
	buf_add(&c->head, p, keep);
	if (buf_failed(&c->head)) {
		c->head.failed = false; /* without memory, these bytes are dropped */
		c->squeezed = true;
		keep = 0;
	}
	c->dropped += n - keep;
}

/* Returns how many bytes a character takes in a JSON string. */
static size_t json_bytes(const char *p, size_t n)
{
	unsigned char c = (unsigned char)*p;

	if (c >= 0x20)
		return n + (c == '"' || c == '\\');
	return memchr("\b\f\n\r\t", c, 5) ? 2 : 6;
}

/* Returns the beginning of S that takes at most MAX bytes in a JSON string. */
static struct str fit_json(struct str s, size_t max)
{
	size_t used = 0, i = 0;

	while (i < s.n) {
		int k = utf8_step(s.p + i, s.n - i);
		size_t n = k > 0 ? (size_t)k : 1;

		used += json_bytes(s.p + i, n);
		if (used > max)
			break;
		i += n;
	}
	return (struct str){ s.p, i };
}

size_t capture_render_max(const struct capture *c)
{
	/* in the worst case each byte becomes U+FFFD, which has three bytes in UTF-8 */
	return 3 * c->head.n + NOTICE_MAX_BYTES;
}

void capture_render(const struct capture *c, size_t json_max, struct buf *out)
{
	AUTO_BUF text = BUF_INIT(3 * c->head.n + 1);
	uint64_t dropped = c->dropped, kept = c->head.n;
	struct str s, cut;

	buf_add_utf8(&text, buf_str(&c->head), c->head.n);
	s = python_trim((struct str){ buf_str(&text), text.n });
	if (json_max) {
		size_t room = json_max > NOTICE_MAX_BYTES ? json_max - NOTICE_MAX_BYTES : 0;

		cut = fit_json(s, room);
		dropped += s.n - cut.n;
		kept -= s.n - cut.n < kept ? s.n - cut.n : kept;
		s = cut;
	}
	buf_add(out, s.p, s.n);
	if (dropped)
		buf_addf(out,
			 "\n... [raw output clipped at %" PRIu64 " bytes, %" PRIu64
			 " bytes discarded%s]",
			 kept, dropped, c->squeezed ? "; the server's memory ceiling is near" : "");
}
