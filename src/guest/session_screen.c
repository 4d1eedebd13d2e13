/*
 * A client that attaches to a command with a terminal must show the command's screen. So pid 1
 * sends the client the modes that the program has set so far, and makes the program draw its screen
 * again.
 *
 * A program draws when the size of its terminal changes. The kernel sends SIGWINCH only if the new
 * size differs from the old size. Some programs, such as `less`, draw only if they see a different
 * size themselves. So if the client's terminal has the old size, pid 1 sets a temporary size, waits
 * until the program has drawn something, and sets the right size. The temporary size has one row
 * less, so that no program draws outside of the client's terminal. If the terminal has only one
 * row, the temporary size has one more column instead.
 */
#include "guest/session.h"

#include <assert.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "guest/terminal.h"

/* the time between two calls of on_turn(); a program that waits for input sees the new size in this
 * time */
#define TURN_NS (50 * NS_PER_MS)
#define TURNS_MAX 10 /* a busy program gets half a second */
static_assert(SCREEN_TEXT_MAX_BYTES <= 1024, "the answer to an attach stays small");

void session_add_attached(struct connection *c, uint32_t stream, uint64_t id,
			  const struct background *b, const struct attach_message *m)
{
	AUTO_BUF body = BUF_INIT(64 + 2 * SCREEN_TEXT_MAX_BYTES);
	AUTO_BUF screen = BUF_INIT(SCREEN_TEXT_MAX_BYTES);
	struct attached_message a = { 0 };

	started_encode(&body, id);
	if (b) {
		uint64_t first = ring_first(&b->out);
		uint64_t at = m->has_offset ? m->offset : b->sent;

		a.kept = b->out.total - (at < first          ? first
					 : at > b->out.total ? b->out.total
							     : at);
		a.fresh = b->out.total - (b->sent < first ? first : b->sent);
		if (a.fresh > a.kept)
			a.fresh = a.kept;
		screen_enter(&b->screen, &screen);
		a.screen = (struct str){ screen.p, screen.n };
	}
	attached_encode(&body, &a);
	connection_add(c, FRAME_STARTED, 0, stream, body.p, body.n);
}

void session_redraw(struct session *s)
{
	s->redraw.wanted = s->relay == RELAY_TERMINAL;
}

static uint64_t output_so_far(const struct session *s)
{
	return s->background ? s->background->out.total : 0;
}

static void on_turn(void *arg)
{
	struct session *s = arg;
	struct redraw *r = &s->redraw;

	r->timer = 0;
	if (++r->turns < TURNS_MAX && output_so_far(s) == r->seen) {
		r->timer = loop_add_timer(s->guest->loop, clock_mono_ns() + TURN_NS, on_turn, s);
		return;
	}
	if (s->out[0].fd >= 0)
		terminal_resize(s->out[0].fd, r->rows, r->cols);
}

void session_resize(struct session *s, struct str body)
{
	struct redraw *r = &s->redraw;
	bool wanted = r->wanted;

	if (s->relay != RELAY_TERMINAL || size_decode(body, &r->rows, &r->cols) < 0)
		return;
	r->wanted = false;
	if (r->timer) /* on_turn() sets the size */
		return;
	if (!wanted || !terminal_has_size(s->out[0].fd, r->rows, r->cols)) {
		terminal_resize(s->out[0].fd, r->rows, r->cols);
		return;
	}
	r->turns = 0;
	r->seen = output_so_far(s);
	if (r->rows > 1)
		terminal_resize(s->out[0].fd, r->rows - 1, r->cols);
	else
		terminal_resize(s->out[0].fd, r->rows, r->cols + 1);
	r->timer = loop_add_timer(s->guest->loop, clock_mono_ns() + TURN_NS, on_turn, s);
}
