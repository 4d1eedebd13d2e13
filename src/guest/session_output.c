/*
 * pid 1 relays output from a terminal, from a file agent, or from the pipes of a background
 * command.
 *
 * The output goes to the client within the client's credit. While no client is attached, the output
 * of a command goes to the log, and the output of a file agent is dropped. If the command has a
 * background entry (guest/background.h), the output also goes into the ring of that entry. Clients
 * can look at the ring, and the next client that attaches first gets the contents of the ring.
 *
 * For an attached client, pid 1 never reads output that it cannot send. A new client has at least
 * as much credit as the ring is large, so pid 1 can send the whole ring. After that, pid 1 reads
 * only as much as the credit allows.
 */
#include "guest/session.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "guest/inquiry.h"
#include "guest/pipes.h"

#define CHUNK_BYTES 16384
#define TURNS 16
#define LAST_TURNS 64 /* 64 chunks are 1 MiB, more than a terminal, a socket or a pipe holds */
static_assert(RING_BYTES <= FRAME_CREDIT_BYTES, "a new client can be sent the whole ring");

static void on_outlet(void *arg, int fd, uint32_t events);

static void watch_outlet(struct outlet *o)
{
	struct session *s = o->session;
	bool may_read = !s->connection || s->credit > 0;
	bool may_write = s->relay != RELAY_PIPES && s->input.n;
	/* with LOOP_EDGE the loop reports only once that no process has the other end open */
	uint32_t events = (may_read ? LOOP_READ : 0) | (may_write ? LOOP_WRITE : 0) |
			  (o->hung_up ? LOOP_EDGE : 0);

	if (o->fd < 0 || !start_has_begun(&s->start)) /* STARTED comes before the first output */
		return;
	if (o->watch)
		loop_change_fd(s->guest->loop, o->watch, events);
	else if (events)
		o->watch = loop_add_fd(s->guest->loop, o->fd, events, on_outlet, o);
}

void session_watch(struct session *s)
{
	watch_outlet(&s->out[0]);
	watch_outlet(&s->out[1]);
	if (s->in_watch)
		loop_change_fd(s->guest->loop, s->in_watch, s->input.n ? LOOP_WRITE : 0);
}

static void close_outlet(struct outlet *o)
{
	loop_remove(o->session->guest->loop, &o->watch);
	fd_closep(&o->fd);
}

static unsigned output_flags(const struct session *s, bool is_error)
{
	if (is_error)
		return FRAME_FLAG_STDERR;
	return s->relay == RELAY_PIPES && !(s->flags & EXEC_JOINED) ? 0 : FRAME_FLAG_JOINED;
}

static void send_output(struct session *s, unsigned flags, const char *p, size_t n)
{
	s->credit -= (uint32_t)n;
	connection_send(s->connection, FRAME_OUTPUT, flags, s->stream, p, n);
}

static void pass_output(struct outlet *o, const char *p, size_t n)
{
	struct session *s = o->session;
	struct background *b = s->background;
	unsigned flags = output_flags(s, o->is_error);

	if (b)
		background_add(b, p, n, o->is_error);
	if (s->connection) {
		send_output(s, flags, p, n);
		if (b)
			b->sent = b->out.total;
	} else if (s->relay != RELAY_FILES) {
		channel_log(s->guest, s->id, flags, p, n);
	}
	if (b)
		looks_answer(s->guest, b->id);
}

/* Passes on the bytes that are there. Returns false when the client's credit is used up. */
static bool read_outlet(struct outlet *o)
{
	struct session *s = o->session;
	char chunk[CHUNK_BYTES];
	bool gone = false;

	/* After the end of the command, LAST_TURNS are enough for everything that the command
	 * wrote. Other processes may go on writing for ever; pid 1 does not wait for them. */
	for (unsigned turn = 0; o->fd >= 0 && turn < (s->ended ? LAST_TURNS : TURNS); turn++) {
		size_t room = !s->connection              ? sizeof(chunk)
			      : s->credit < sizeof(chunk) ? s->credit
							  : sizeof(chunk);
		ssize_t n = room ? read(o->fd, chunk, room) : -1;

		if (room == 0)
			return false;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			/* EIO means that no process has the slave open */
			gone = n == 0 || errno != EAGAIN;
			break;
		}
		pass_output(o, chunk, (size_t)n);
	}
	if (gone && s->relay == RELAY_PIPES)
		close_outlet(o);
	/* keep the terminal, because a process can open its controlling terminal again */
	o->hung_up = gone;
	return true;
}

static void on_outlet(void *arg, int fd, uint32_t events)
{
	struct outlet *o = arg;
	struct session *s = o->session;

	if (events & LOOP_WRITE)
		session_feed(s);
	/* While s->emptying is set, pid 1 still kills processes of the command, so the session must
	 * not finish here. Later session_conclude() passes on the rest of the output. */
	if (s->ended && !s->emptying) {
		session_pass_rest(s);
		return;
	}
	if (!read_outlet(o) && events & LOOP_HANGUP) {
		/* If no process has the other end open, the loop reports this again and again,
		 * whichever events pid 1 asks for. So pid 1 does not watch the outlet until the
		 * client grants credit. */
		loop_remove(s->guest->loop, &o->watch);
		return;
	}
	watch_outlet(o);
}

void session_pass_rest(struct session *s)
{
	for (unsigned i = 0; i < ARRAY_SIZE(s->out); i++)
		if (!read_outlet(&s->out[i])) { /* the rest follows when the client grants credit */
			loop_remove(s->guest->loop, &s->out[0].watch);
			loop_remove(s->guest->loop, &s->out[1].watch);
			return;
		}
	session_finish(s);
}

void session_end_relay(struct session *s)
{
	struct guest *g = s->guest;

	for (unsigned i = 0; i < ARRAY_SIZE(s->out); i++) {
		struct outlet *o = &s->out[i];

		loop_remove(g->loop, &o->watch);
		if (s->relay == RELAY_PIPES && o->fd >= 0)
			pipes_adopt(g, fd_take(&o->fd), s->id, output_flags(s, o->is_error));
		fd_closep(&o->fd);
	}
	loop_remove(g->loop, &s->in_watch);
	fd_closep(&s->in);
}

static void set_outlet(struct session *s, unsigned i, int fd)
{
	s->out[i].fd = fd;
	if (fd >= 0)
		IGNORE(fcntl(fd, F_SETFL, O_NONBLOCK)); /* cannot fail on a pipe */
	watch_outlet(&s->out[i]);
}

void session_relay(struct session *s, int master, bool files)
{
	s->relay = files ? RELAY_FILES : RELAY_TERMINAL;
	s->out[0].fd = master;
	watch_outlet(&s->out[0]);
}

static void on_in(void *arg, int fd, uint32_t events)
{
	struct session *s = arg;

	if (events & ~LOOP_WRITE)
		session_input_gone(s);
	else
		session_feed(s);
}

void session_relay_pipes(struct session *s, int in, int out, int error)
{
	s->relay = RELAY_PIPES;
	s->out[1].is_error = true;
	set_outlet(s, 0, out);
	set_outlet(s, 1, error);
	s->in = in;
	s->input_closed = in < 0;
	if (in < 0)
		return;
	IGNORE(fcntl(in, F_SETFL, O_NONBLOCK)); /* cannot fail on a pipe */
	s->in_watch = loop_add_fd(s->guest->loop, in, 0, on_in, s);
}

void session_credit(struct session *s, struct str body)
{
	uint64_t n;

	if (!s->relay || number_decode(body, &n) < 0 || n > FRAME_CREDIT_BYTES ||
	    s->credit + n > FRAME_CREDIT_BYTES)
		return;
	s->credit += (uint32_t)n;
	if (s->ended && !s->emptying)
		session_pass_rest(s);
	else
		session_watch(s);
}

/* --- clients that leave and come back -------------------------------------------------------- */

void session_keep(struct session *s)
{
	struct background_spec spec = { .id = s->id,
					.terminal = s->relay == RELAY_TERMINAL,
					.hidden = !s->outlives,
					.joined = true,
					.words = &s->words,
					.began_ns = s->began_ns };
	struct err ignored;
	bool more;

	if (!s->background &&
	    background_new(&s->guest->backgrounds, &spec, &s->background, &ignored) < 0)
		return;
	s->background->hidden = spec.hidden;
	/* the EOF characters of a terminal are not from a client, and need no more memory */
	more = s->input.n > BACKGROUND_INPUT_BYTES + TERMINAL_EOFS_MAX;
	if (s->input.n &&
	    !background_hold(&s->guest->backgrounds, s->background,
			     more ? SESSION_INPUT_MAX_BYTES : BACKGROUND_INPUT_BYTES)) {
		background_free(&s->guest->backgrounds, s->background);
		s->background = NULL;
	}
}

void session_part(struct session *s)
{
	s->connection = NULL;
	session_spare_input(s);
	if (s->background)
		looks_answer(s->guest, s->id); /* answers LOOKs that wait until input is possible */
	if (s->ended && !s->emptying)
		session_pass_rest(s);
	else
		session_watch(s);
}

void session_detach(struct session *s)
{
	if (s->relay != RELAY_TERMINAL && s->relay != RELAY_PIPES)
		return;
	s->outlives = true;
	session_keep(s);
	session_part(s);
}

/* Sends the output in the ring from offset AT on. The flag KEPT tells the client that this output
 * is in the log already: pid 1 or an earlier client has logged it. */
static void send_kept(struct connection *c, uint32_t stream, struct background *b, uint64_t at,
		      unsigned joined)
{
	uint64_t first = ring_first(&b->out);
	const char *p;
	bool mark;
	size_t n;

	if (at < first)
		at = first;
	while (at < b->out.total && (n = ring_piece(&b->out, at, &p, &mark)) > 0) {
		if (n > FRAME_DATA_MAX_BYTES)
			n = FRAME_DATA_MAX_BYTES;
		connection_add(c, FRAME_OUTPUT,
			       (mark ? FRAME_FLAG_STDERR : joined) | FRAME_FLAG_KEPT, stream, p, n);
		at += n;
	}
	b->sent = b->out.total;
}

static uint64_t first_wanted(const struct background *b, const struct attach_message *m)
{
	return m->has_offset ? m->offset : b->sent;
}

static void attach(struct session *s, struct connection *c, uint32_t stream,
		   const struct attach_message *m)
{
	struct background *b = s->background;

	s->outlives = true;
	s->connection = c;
	s->stream = stream;
	s->credit = FRAME_CREDIT_BYTES;
	s->earlier_input = s->input.n;
	session_add_attached(c, stream, s->id, b, m);
	if (b) {
		uint64_t first = ring_first(&b->out), at = first_wanted(b, m);

		if (at < b->out.total)
			s->credit -= (uint32_t)(b->out.total - (at < first ? first : at));
		send_kept(c, stream, b, at, output_flags(s, false));
	}
	connection_flush(c);
	session_redraw(s);
	session_watch(s);
}

/* Sends C what pid 1 keeps of a command that has ended: its output, its report and its exit
 * status. */
static void attach_ended(struct background *b, struct connection *c, uint32_t stream,
			 const struct attach_message *m)
{
	session_add_attached(c, stream, b->id, b, m);
	send_kept(c, stream, b, first_wanted(b, m), b->out.mark ? 0 : FRAME_FLAG_JOINED);
	if (b->report.p)
		connection_add(c, FRAME_REPORT, 0, stream, b->report.p, b->report.n);
	b->taker = c;
	connection_send_exit(c, stream, &b->end);
	b->exit_end = connection_end_of_queue(c);
}

/* Of the commands that have a terminal and no client, returns the one that started last, or
 * NULL. */
static struct session *latest_terminal(struct guest *g)
{
	struct session *found = NULL;

	for (struct session *s = g->sessions; s; s = s->next)
		if (s->relay == RELAY_TERMINAL && !s->ended && !s->connection &&
		    start_has_begun(&s->start) && (!found || s->id > found->id))
			found = s;
	return found;
}

/* Finds the command that a client wants to attach to. A running command goes into *RET; for a
 * command that has ended, *RET is NULL and *RET_ENDED is its entry. Returns -1 if there is no such
 * command, if another client has it, or if there is no room for the client's input. */
static int find_attachable(struct guest *g, uint64_t id, struct session **ret,
			   struct background **ret_ended, struct err *e)
{
	struct session *s = id ? session_by_number(g, id) : latest_terminal(g);
	struct background *b = id ? background_find(&g->backgrounds, id) : NULL;

	if (!id && !s)
		return err_set(e, ERR_NOT_FOUND, "no detached session");
	if (s ? s->relay != RELAY_TERMINAL && s->relay != RELAY_PIPES : !b || !b->ended)
		return err_set(e, ERR_NOT_FOUND, "session not found: %llu", (unsigned long long)id);
	if (s ? s->connection != NULL : b->taker != NULL)
		return err_set(e, ERR_BUSY, "session %llu is attached elsewhere",
			       (unsigned long long)id);
	if (s && session_expect_input(s, e) < 0)
		return -1;
	*ret = s;
	*ret_ended = b;
	return 0;
}

void session_attach(struct connection *c, uint32_t stream, struct str body)
{
	struct session *s = NULL;
	struct background *b = NULL;
	struct attach_message m;
	struct err e;

	if (attach_decode(body, &m) < 0)
		m = (struct attach_message){ 0 };
	if (find_attachable(c->guest, m.id, &s, &b, &e) < 0)
		connection_send_error(c, stream, &e);
	else if (s)
		attach(s, c, stream, &m);
	else
		attach_ended(b, c, stream, &m);
}
