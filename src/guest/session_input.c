/*
 * pid 1 relays input to a terminal, to a file agent, or to the pipe of a background command. pid 1
 * keeps the bytes that the command does not take at once. An attached client sends no more than its
 * credit allows. Any client can also send input with a FEED request while no client is attached.
 * For such input session_hold() takes as many bytes as there is room for, and returns their number.
 *
 * Every client that attaches begins with the whole credit, whatever FEED or an earlier client has
 * left in the buffer. So the buffer has room for what was left and for a whole credit, and pid 1
 * counts the bytes that are not from the attached client (s->earlier_input). The client gets no
 * credit for these bytes.
 *
 * If pid 1 keeps the command without a client (s->background is set), the memory for its input
 * counts against the pool. The memory for a whole credit is reserved as long as a client is
 * attached. When the command has taken all input, pid 1 gives all other memory back.
 */
#include "guest/session.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/inquiry.h"

#define TERMINAL_EOF "\x04"
static_assert(BACKGROUND_INPUT_BYTES == FRAME_CREDIT_BYTES,
	      "what a client may leave behind does not keep the next client from attaching");

/* Returns the descriptor to which pid 1 writes input, or -1 if this descriptor is closed. */
static int inlet(const struct session *s)
{
	return s->relay == RELAY_PIPES ? s->in : s->out[0].fd;
}

static void close_inlet(struct session *s)
{
	s->input_closed = true;
	s->input.n = 0;
	if (s->relay == RELAY_FILES)
		IGNORE(shutdown(s->out[0].fd, SHUT_WR)); /* the agent may be gone */
	if (s->relay != RELAY_PIPES)
		return;
	loop_remove(s->guest->loop, &s->in_watch);
	fd_closep(&s->in);
}

/* Writes to the command. Returns how many bytes the command took. Sets *RET_GONE if no process
 * will read the rest. */
static size_t push(const struct session *s, const char *p, size_t n, bool *ret_gone)
{
	size_t done = 0;

	while (done < n) {
		ssize_t k = write(inlet(s), p + done, n - done);

		if (k < 0 && errno == EINTR)
			continue;
		*ret_gone = k < 0 && errno != EAGAIN && s->relay == RELAY_PIPES;
		if (k <= 0)
			break;
		done += (size_t)k;
	}
	return done;
}

/* Called when the first N bytes of the held input are gone. Grants the attached client credit for
 * those of the N bytes that came from this client. */
static void grant(struct session *s, size_t n)
{
	size_t earlier = n < s->earlier_input ? n : s->earlier_input;
	AUTO_BUF b = BUF_INIT(64);

	s->earlier_input -= earlier;
	n -= earlier;
	if (!s->connection || n == 0)
		return;
	number_encode(&b, n);
	connection_send(s->connection, FRAME_CREDIT, 0, s->stream, b.p, b.n);
}

void session_feed(struct session *s)
{
	size_t before = s->input.n;
	bool gone = false;

	if (!start_has_begun(&s->start)) /* the client must get STARTED before CREDIT */
		return;
	buf_drop(&s->input, push(s, s->input.p, s->input.n, &gone));
	if (gone)
		close_inlet(s);
	grant(s, before - s->input.n);
	if (s->input.n == 0) {
		if (s->input_closed && s->relay != RELAY_TERMINAL)
			close_inlet(s);
		session_spare_input(s);
	}
	session_watch(s);
	if (s->background)
		looks_answer(s->guest, s->background->id);
}

void session_input_gone(struct session *s)
{
	size_t left = s->input.n;

	close_inlet(s);
	grant(s, left);
	session_feed(s);
}

static bool ends_line(char c)
{
	return c == '\n' || c == '\r' || c == TERMINAL_EOF[0];
}

static void note_line(struct session *s, char last)
{
	s->within_line = s->relay == RELAY_TERMINAL && !ends_line(last);
}

void session_input_end(struct session *s)
{
	if (s->input_closed)
		return;
	s->input_closed = true;
	if (s->within_line) /* this EOF character only passes the unfinished line to the program */
		buf_add_str(&s->input, TERMINAL_EOF);
	if (s->relay == RELAY_TERMINAL)
		buf_add_str(&s->input, TERMINAL_EOF);
	session_feed(s);
}

void session_input(struct session *s, struct str data)
{
	if (!s->relay || s->ended || s->input_closed)
		return;
	if (data.n == 0) {
		session_input_end(s);
		return;
	}
	/* If a client sends more than its credit, it has broken the protocol. We must check this
	 * here: buf_add() would accept too many bytes, because the buffer also has room for earlier
	 * input and for the EOF characters of a terminal. */
	if (s->input.n - s->earlier_input + data.n > FRAME_CREDIT_BYTES)
		s->input.failed = true;
	buf_add(&s->input, data.p, data.n);
	if (buf_failed(&s->input)) {
		session_kill(s);
		return;
	}
	note_line(s, data.p[data.n - 1]);
	session_feed(s);
}

size_t session_room(const struct session *s)
{
	if (s->ended || s->input_closed || inlet(s) < 0 || s->input.n > BACKGROUND_INPUT_BYTES)
		return 0;
	return BACKGROUND_INPUT_BYTES - s->input.n;
}

int session_expect_input(struct session *s, struct err *e)
{
	/* if the input is closed, pid 1 ignores what the client sends */
	bool adds = s->input.n && !s->input_closed;

	if (adds && s->input.n > BACKGROUND_INPUT_BYTES)
		return err_set(e, ERR_LIMIT, "session %llu has more than %u KiB of unread input",
			       (unsigned long long)s->id, BACKGROUND_INPUT_BYTES >> 10);
	if (s->background &&
	    !background_hold(&s->guest->backgrounds, s->background,
			     adds ? SESSION_INPUT_MAX_BYTES : BACKGROUND_INPUT_BYTES))
		return err_set(e, ERR_LIMIT, POOL_REFUSAL);
	return 0;
}

void session_spare_input(struct session *s)
{
	size_t kept = s->connection ? BACKGROUND_INPUT_BYTES : 0;

	if (!s->background || s->input.n || (s->connection && s->background->input_cost <= kept))
		return;
	buf_done(&s->input);
	background_let_go(&s->guest->backgrounds, s->background, kept);
}

/* Holds as many of the N bytes as there is room for, until the command takes them. Returns the
 * number of bytes that it added, or -1. */
static ssize_t hold(struct session *s, const char *p, size_t n, struct err *e)
{
	size_t room = session_room(s);

	if (n > room)
		n = room;
	if (n == 0)
		return 0;
	if (!background_hold(&s->guest->backgrounds, s->background, BACKGROUND_INPUT_BYTES))
		return err_set(e, ERR_LIMIT, POOL_REFUSAL);
	buf_add(&s->input, p, n);
	if (buf_failed(&s->input)) {
		s->input.failed = false;
		return err_set(e, ERR_LIMIT, "no memory for the command's input");
	}
	return (ssize_t)n;
}

ssize_t session_hold(struct session *s, const char *p, size_t n, struct err *e)
{
	bool gone = false;
	size_t done = s->input.n ? 0 : push(s, p, n, &gone);
	ssize_t held;

	if (gone)
		close_inlet(s);
	held = hold(s, p + done, n - done, e);
	if (held < 0 && done == 0)
		return -1;
	if (held > 0)
		done += (size_t)held;
	if (done > 0)
		note_line(s, p[done - 1]);
	session_watch(s);
	return (ssize_t)done;
}
