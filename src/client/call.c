#include "client/call.h"

#include "base/cleanup.h"
#include "base/clock.h"

/* after this much output the client sends one frame CREDIT */
#define GRANT_BYTES (FRAME_CREDIT_BYTES / 4)

void call_init(struct call *c, const char *name, uint32_t stream)
{
	*c = (struct call){ .name = name,
			    .stream = stream,
			    .credit = FRAME_CREDIT_BYTES,
			    .granted = FRAME_CREDIT_BYTES };
}

void call_exec(struct call *c, const struct exec_message *m, uint64_t now_ns, struct buf *b)
{
	size_t at = frame_begin(b, FRAME_EXEC, 0, c->stream);

	exec_encode(b, m);
	frame_end(b, at);
	if (m->timeout_ms)
		c->deadline = now_ns + m->timeout_ms * NS_PER_MS + CALL_BACKSTOP_NS;
}

void call_attach(struct call *c, const struct attach_message *m, struct buf *b)
{
	size_t at = frame_begin(b, FRAME_ATTACH, 0, c->stream);

	attach_encode(b, m);
	frame_end(b, at);
}

void call_file(struct call *c, const struct file_message *m, struct buf *b)
{
	size_t at = frame_begin(b, FRAME_FILE, 0, c->stream);

	file_encode(b, m);
	frame_end(b, at);
}

size_t call_input(struct call *c, const void *p, size_t n, struct buf *b)
{
	if (n > c->credit)
		n = c->credit;
	if (n > FRAME_DATA_MAX_BYTES)
		n = FRAME_DATA_MAX_BYTES;
	if (n > 0) /* pid 1 takes an empty frame as the end of the input */
		frame_put(b, FRAME_STDIN, 0, c->stream, p, n);
	c->credit -= (uint32_t)n;
	return n;
}

void call_input_end(const struct call *c, struct buf *b)
{
	frame_put(b, FRAME_STDIN, 0, c->stream, NULL, 0);
}

void call_resize(const struct call *c, uint32_t rows, uint32_t cols, struct buf *b)
{
	size_t at = frame_begin(b, FRAME_RESIZE, 0, c->stream);

	size_encode(b, rows, cols);
	frame_end(b, at);
}

void call_detach(const struct call *c, struct buf *b)
{
	frame_put(b, FRAME_DETACH, 0, c->stream, NULL, 0);
}

static void put_signal(const struct call *c, uint64_t id, int sig, unsigned flags, struct buf *b)
{
	size_t at = frame_begin(b, FRAME_SIGNAL, flags, c->stream);

	signal_encode(b, &(struct signal_message){ (uint64_t)sig, id });
	frame_end(b, at);
}

void call_signal(const struct call *c, int sig, bool scope, struct buf *b)
{
	put_signal(c, 0, sig, scope ? FRAME_FLAG_SCOPE : 0, b);
}

void call_signal_to(const struct call *c, uint64_t id, int sig, unsigned flags, struct buf *b)
{
	put_signal(c, id, sig, flags, b);
}

void call_list(const struct call *c, struct buf *b)
{
	frame_put(b, FRAME_LIST, 0, c->stream, NULL, 0);
}

void call_look(const struct call *c, const struct look_message *m, struct buf *b)
{
	size_t at = frame_begin(b, FRAME_LOOK, 0, c->stream);

	look_encode(b, m);
	frame_end(b, at);
}

void call_feed(const struct call *c, const struct feed_message *m, struct buf *b)
{
	size_t at = frame_begin(b, FRAME_FEED, 0, c->stream);

	feed_encode(b, m);
	frame_end(b, at);
}

bool call_took(struct call *c, size_t n, struct buf *b)
{
	size_t at;

	c->taken += (uint32_t)n;
	if (c->taken < GRANT_BYTES)
		return false;
	at = frame_begin(b, FRAME_CREDIT, 0, c->stream);
	number_encode(b, c->taken);
	frame_end(b, at);
	c->granted += c->taken;
	c->taken = 0;
	return true;
}

void call_leave(const struct call *c, unsigned flags, struct buf *b)
{
	/* LEAVE names the command by its number, because the call's stream has ended */
	frame_put(b, FRAME_LEAVE, flags, (uint32_t)c->id, NULL, 0);
}

static int bad(const struct call *c, const char *what, struct err *e)
{
	return err_set(e, ERR_PROTOCOL, "sandbox '%s' sent %s", c->name, what);
}

static int take_output(struct call *c, const struct frame *f, struct err *e)
{
	if (f->body.n > FRAME_DATA_MAX_BYTES)
		return bad(c, "an oversized frame", e);
	if (f->body.n > c->granted)
		return bad(c, "more output than it may", e);
	c->granted -= (uint32_t)f->body.n;
	return CALL_OUTPUT;
}

static int take_report(struct call *c, const struct frame *f, struct err *e)
{
	if (c->reported || f->body.n > REPORT_MAX_BYTES)
		return bad(c, "more reports than it may", e);
	c->reported = true;
	return CALL_REPORT;
}

static int take_command(struct call *c, const struct frame *f, struct err *e)
{
	if (c->told == CALL_TOLD_MAX)
		return bad(c, "a list without an end", e);
	if (command_decode(f->body, &c->command) < 0)
		return bad(c, "a bad answer", e);
	c->told++;
	return CALL_COMMAND;
}

static int take_error(const struct call *c, const struct frame *f, struct err *e)
{
	const char *text;
	unsigned code;

	if (error_decode(f->body, &code, &text) < 0)
		return bad(c, "a bad answer", e);
	return err_set(e, (enum err_code)code, "%s", text);
}

int call_take(struct call *c, const struct frame *f, struct err *e)
{
	uint64_t n;

	if (c->ended || (f->stream != c->stream && (f->stream != 0 || f->type != FRAME_ERROR)))
		return CALL_NOTHING;
	switch (f->type) {
	case FRAME_ERROR:
		return take_error(c, f, e);
	case FRAME_STARTED:
		if (started_decode(f->body, &n) < 0 || n == 0 || c->id)
			return CALL_NOTHING;
		c->id = n;
		return CALL_STARTED;
	case FRAME_EXIT:
		if (exit_decode(f->body, &c->end) < 0)
			return bad(c, "a bad status", e);
		c->ended = true;
		return CALL_ENDED;
	case FRAME_OUTPUT:
		return take_output(c, f, e);
	case FRAME_REPORT:
		return take_report(c, f, e);
	case FRAME_COMMAND:
		return take_command(c, f, e);
	case FRAME_PONG:
		return CALL_TOLD;
	case FRAME_CREDIT:
		if (number_decode(f->body, &n) == 0 && n <= FRAME_CREDIT_BYTES - c->credit)
			c->credit += (uint32_t)n;
		return CALL_NOTHING;
	default:
		return CALL_NOTHING;
	}
}

bool call_is_late(const struct call *c, uint64_t now_ns)
{
	return c->deadline && !c->ended && now_ns >= c->deadline;
}

void call_give_up(struct call *c)
{
	c->end = (struct exit_message){ .timed_out = true, .swept = true };
	c->ended = true;
}

int exec_exit_status(const struct exit_message *m)
{
	switch (m->failure) {
	case EXEC_OK:
		break;
	case EXEC_NOT_FOUND:
		return 127;
	case EXEC_DENIED:
	case EXEC_NOT_EXECUTABLE:
		return 126;
	default:
		return 1;
	}
	if (m->timed_out)
		return 124;
	return m->signal ? 128 + (int)m->signal : (int)m->code;
}
