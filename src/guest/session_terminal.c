/*
 * The terminal of a session, or the socket of its file agent: both are `master` here.
 *
 * Output flows to the client within the client's credit. While no client is attached, the output of a terminal goes
 * to the ring, which the next client gets first, and to the log.
 */
#include "guest/session.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/terminal.h"

#define TERMINAL_CHUNK_BYTES 16384
#define TURNS 16
#define LAST_TURNS 64 /* 1 MiB: more than a terminal or a socket holds */
#define TERMINAL_EOF "\x04"

static void on_master(void *arg, int fd, uint32_t events);

void session_watch(struct session *s)
{
	bool may_read = !s->connection || s->credit > 0;
	uint32_t events = (may_read ? LOOP_READ : 0) | (s->input.n ? LOOP_WRITE : 0) |
			  (s->hung_up ? LOOP_EDGE : 0); /* else told again and again */

	if (!start_has_begun(&s->start)) /* STARTED comes before the first output */
		return;
	if (s->master_watch)
		loop_change_fd(s->guest->loop, s->master_watch, events);
	else if (events)
		s->master_watch = loop_add_fd(s->guest->loop, s->master, events, on_master, s);
}

static void keep_in_ring(struct session *s, const char *p, size_t n)
{
	buf_add(&s->ring, p, n);
	if (s->ring.n > 2 * GUEST_RING_BYTES - TERMINAL_CHUNK_BYTES) /* seldom: moving it costs */
		buf_drop(&s->ring, s->ring.n - GUEST_RING_BYTES);
}

static void pass_output(struct session *s, const char *p, size_t n)
{
	if (s->connection) {
		s->credit -= (uint32_t)n;
		connection_send(s->connection, FRAME_OUTPUT, FRAME_FLAG_JOINED, s->stream, p, n);
	} else if (!s->files) {
		keep_in_ring(s, p, n);
		channel_log(s->guest, s->id, FRAME_FLAG_JOINED, p, n);
	}
}

static void feed_terminal(struct session *s)
{
	AUTO_BUF grant = BUF_INIT(64);
	size_t before = s->input.n;

	while (s->input.n) {
		ssize_t n = write(s->master, s->input.p, s->input.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		buf_drop(&s->input, (size_t)n);
	}
	if (s->connection && before > s->input.n) {
		number_encode(&grant, before - s->input.n);
		connection_send(s->connection, FRAME_CREDIT, 0, s->stream, grant.p, grant.n);
	}
	if (s->files && s->input_closed && s->input.n == 0)
		IGNORE(shutdown(s->master, SHUT_WR)); /* it may have gone already */
}

static void on_master(void *arg, int fd, uint32_t events)
{
	struct session *s = arg;
	char chunk[TERMINAL_CHUNK_BYTES];
	bool gone = false;

	if (events & LOOP_WRITE)
		feed_terminal(s);
	/* the last time takes what was there at the end, and not what others may add for ever */
	for (unsigned turn = 0; turn < (s->ended ? LAST_TURNS : TURNS); turn++) {
		size_t room = !s->connection              ? sizeof(chunk)
			      : s->credit < sizeof(chunk) ? s->credit
							  : sizeof(chunk);
		ssize_t n = room ? read(fd, chunk, room) : -1;

		if (room == 0) { /* more when the client grants credit, also after the end */
			if (events & LOOP_HANGUP) /* told again and again, whatever is asked for */
				loop_remove(s->guest->loop, &s->master_watch);
			else
				session_watch(s);
			return;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			gone = n == 0 || errno != EAGAIN; /* EIO: nobody holds the slave */
			break;
		}
		pass_output(s, chunk, (size_t)n);
	}
	if (s->ended && !s->emptying) { /* else session_conclude() comes here again */
		session_finish(s);
		return;
	}
	s->hung_up = gone; /* not for good: who has it as controlling terminal can open it again */
	session_watch(s);
}

void session_pass_rest(struct session *s)
{
	on_master(s, s->master, LOOP_READ);
}

static bool ends_line(char c)
{
	return c == '\n' || c == '\r' || c == TERMINAL_EOF[0];
}

void session_input(struct session *s, struct str data)
{
	if (s->master < 0 || s->ended || s->input_closed)
		return;
	if (data.n == 0) {
		s->input_closed = true;
		if (s->within_line) /* this one only hands over what there is of it */
			buf_add_str(&s->input, TERMINAL_EOF);
		buf_add_str(&s->input, s->files ? "" : TERMINAL_EOF);
	} else {
		buf_add(&s->input, data.p, data.n);
		s->within_line = !s->files && !ends_line(data.p[data.n - 1]);
	}
	if (buf_failed(&s->input)) { /* beyond its credit: a broken client */
		session_kill(s);
		return;
	}
	if (start_has_begun(&s->start)) /* STARTED comes before the first CREDIT, too */
		feed_terminal(s);
	session_watch(s);
}

void session_credit(struct session *s, struct str body)
{
	uint64_t n;

	if (s->master < 0 || number_decode(body, &n) < 0 || n > FRAME_CREDIT_BYTES ||
	    s->credit + n > FRAME_CREDIT_BYTES)
		return;
	s->credit += (uint32_t)n;
	if (s->ended)
		on_master(s, s->master, LOOP_READ);
	else
		session_watch(s);
}

void session_resize(struct session *s, struct str body)
{
	uint32_t rows, cols;

	if (s->master >= 0 && !s->files && size_decode(body, &rows, &cols) == 0)
		terminal_resize(s->master, rows, cols);
}

void session_detach(struct session *s)
{
	if (s->master < 0 || s->files)
		return;
	s->connection = NULL;
	session_watch(s);
	if (s->ended)
		on_master(s, s->master, LOOP_READ);
}

void session_attach(struct connection *c, uint32_t stream, struct str body)
{
	struct session *found = NULL;
	struct err e;
	uint64_t id;

	if (number_decode(body, &id) < 0)
		id = 0;
	for (struct session *s = c->guest->sessions; s; s = s->next)
		if (s->master >= 0 && !s->files && !s->ended && start_has_begun(&s->start) &&
		    (id ? s->id == id : !s->connection) && (!found || s->id > found->id))
			found = s;
	if (!found || found->connection) {
		if (found)
			err_set(&e, ERR_BUSY, "session %llu is attached elsewhere",
				(unsigned long long)id);
		else if (id)
			err_set(&e, ERR_NOT_FOUND, "session not found: %llu",
				(unsigned long long)id);
		else
			err_set(&e, ERR_NOT_FOUND, "no detached session");
		connection_send_error(c, stream, &e);
		return;
	}
	found->connection = c;
	found->stream = stream;
	found->credit = FRAME_CREDIT_BYTES;
	if (found->ring.n > GUEST_RING_BYTES)
		buf_drop(&found->ring, found->ring.n - GUEST_RING_BYTES);
	session_send_started(found, c);
	for (size_t at = 0; at < found->ring.n; at += FRAME_DATA_MAX_BYTES) {
		size_t n = found->ring.n - at;

		if (n > FRAME_DATA_MAX_BYTES)
			n = FRAME_DATA_MAX_BYTES;
		found->credit -= (uint32_t)n;
		connection_send(c, FRAME_OUTPUT, FRAME_FLAG_JOINED | FRAME_FLAG_KEPT, stream,
				found->ring.p + at, n);
	}
	buf_clear(&found->ring);
	session_watch(found);
}
