/*
 * The number of a stream consists of a serial number and the index of a slot. Each use of a slot
 * has a new serial number. So a late frame of an old stream never reaches the next stream in the
 * same slot.
 */
#include "client/line.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "client/outbox.h"
#include "wire/message.h"

#define READ_BYTES 16384
/* how many reads line_hear() does at most */
#define HEAR_READS 64
/* how long we wait before we try again to send descriptors; no event tells when the kernel accepts
 * descriptors again */
#define RETRY_NS (20 * NS_PER_MS)
/* The stream of our first PING, which belongs to no user. The numbers of users' streams are higher,
 * because their serial numbers begin with 1. */
#define NOBODYS_STREAM 1u
#define SLOT_BITS 8
static_assert(LINE_STREAMS_MAX == 1u << SLOT_BITS, "a stream's number holds its slot");

struct stream {
	uint32_t number; /* 0 if the slot is free */
	struct line_user user;
};

struct line {
	struct loop *loop; /* borrowed */
	char *name;
	int fd; /* -1 if the line is down */
	loop_id watch, retry, telling;
	struct buf in;
	uint32_t needs; /* the protocol version that line_need() asked for */
	struct outbox out;
	bool deaf;       /* pid 1 reads nothing any more, but we still read what it has sent */
	bool wants_room; /* a user waits until the line takes input again */
	uint32_t serial;
	struct stream *stream;
	uint32_t n_streams;
	line_gone_fn *gone;
	void *arg;
	struct err why;
	unsigned depth; /* how many callbacks are running */
	bool freed;
};

static void enter(struct line *n)
{
	n->depth++;
}

static void leave(struct line *n)
{
	if (--n->depth > 0 || !n->freed)
		return;
	buf_done(&n->in);
	free(n->stream);
	free(n->name);
	free(n);
}

/* --- sending --------------------------------------------------------------------------------- */

static void flush(struct line *n);

static bool has_room(const struct line *n)
{
	return n->out.n_messages < LINE_QUEUE_MESSAGES_MAX &&
	       n->out.n_bytes < LINE_INPUT_QUEUE_BYTES_MAX;
}

bool line_takes_input(struct line *n)
{
	bool room = has_room(n);

	n->wants_room |= !room;
	return room;
}

/* Tells the users of the streams that there is room for input again. A user may call the line again
 * at once. So only callbacks of the loop and line_hear() call this, not the functions with which
 * users send. */
static void tell_room(struct line *n)
{
	if (n->fd < 0 || !n->wants_room || !has_room(n))
		return;
	n->wants_room = false;
	for (uint32_t i = 0; n->fd >= 0 && i < n->n_streams; i++) {
		const struct line_user u = n->stream[i].user;

		if (n->stream[i].number && u.room)
			u.room(u.arg);
	}
}

static void on_retry(void *arg)
{
	struct line *n = arg;

	n->retry = 0;
	enter(n);
	flush(n);
	tell_room(n);
	leave(n);
}

/* Sends what the socket takes now. The loop calls this again for the rest. */
static void flush(struct line *n)
{
	enum outbox_result r;

	if (n->fd < 0 || n->retry)
		return;
	r = outbox_flush(&n->out, n->fd);
	if (r == OUTBOX_CROWDED) {
		n->retry = loop_add_timer(n->loop, clock_mono_ns() + RETRY_NS, on_retry, n);
		if (!n->retry)
			out_of_memory();
	} else if (r == OUTBOX_LOST) {
		n->deaf = true;
		outbox_clear(&n->out);
	}
	loop_change_fd(n->loop, n->watch, LOOP_READ | (r == OUTBOX_FULL ? LOOP_WRITE : 0));
}

static int check_room(const struct line *n, enum line_message kind, const struct buf *b,
		      struct err *e)
{
	if (n->fd < 0 || n->deaf)
		return err_set(e, ERR_NOT_RUNNING, "sandbox '%s' is not running", n->name);
	if (buf_failed(b) || b->n == 0)
		return err_set(e, ERR_LIMIT, "the command and its environment are too long");
	if (kind == LINE_REQUEST && (n->out.n_messages >= LINE_QUEUE_MESSAGES_MAX ||
				     n->out.n_bytes + b->n > LINE_QUEUE_BYTES_MAX))
		return err_set(e, ERR_LIMIT, "too many requests wait for sandbox '%s'", n->name);
	return 0;
}

/* Hangs up if pid 1 makes us queue one follow-up after the other, and reads none. */
static int check_reader(struct line *n, enum line_message kind, struct err *e)
{
	if (kind == LINE_REQUEST || n->out.n_messages < LINE_QUEUE_FOLLOW_UPS_MAX)
		return 0;
	err_set(e, ERR_PROTOCOL, "sandbox '%s' does not read what we send", n->name);
	line_hang_up(n, e);
	return -1;
}

static int queue(struct line *n, enum line_message kind, uint32_t needs, struct buf *b,
		 const int *fds, unsigned n_fds, struct err *e)
{
	bool first = !n->out.first;

	if (check_room(n, kind, b, e) < 0 || check_reader(n, kind, e) < 0) {
		buf_done(b);
		while (n_fds > 0)
			close(fds[--n_fds]);
		return -1;
	}
	outbox_add(&n->out, b, fds, n_fds, needs);
	if (first)
		flush(n);
	return 0;
}

int line_send(struct line *n, enum line_message kind, struct buf *b, const int *fds, unsigned n_fds,
	      struct err *e)
{
	return queue(n, kind, 0, b, fds, n_fds, e);
}

static int too_old_for(const struct line *n, struct err *e)
{
	return err_set(e, ERR_UNSUPPORTED,
		       "sandbox '%s' was started by an older version, which keeps no background "
		       "commands",
		       n->name);
}

int line_ask(struct line *n, uint32_t version, struct buf *b, struct err *e)
{
	if (!n->out.version || n->out.version >= version)
		return queue(n, LINE_REQUEST, version, b, NULL, 0, e);
	buf_done(b);
	return too_old_for(n, e);
}

/* --- streams --------------------------------------------------------------------------------- */

static struct stream *find(struct line *n, uint32_t number)
{
	uint32_t slot = number & (LINE_STREAMS_MAX - 1);

	return number && slot < n->n_streams && n->stream[slot].number == number ? &n->stream[slot]
										 : NULL;
}

/* Returns a free slot, or NULL. */
static struct stream *claim(struct line *n)
{
	uint32_t more = n->n_streams ? 2 * n->n_streams : 4;
	struct stream *s;

	for (uint32_t i = 0; i < n->n_streams; i++)
		if (!n->stream[i].number)
			return &n->stream[i];
	if (n->n_streams == LINE_STREAMS_MAX)
		return NULL;
	s = realloc(n->stream, more * sizeof(*s));
	if (!s)
		return NULL;
	memset(s + n->n_streams, 0, (more - n->n_streams) * sizeof(*s));
	n->stream = s;
	s += n->n_streams;
	n->n_streams = more;
	return s;
}

int line_open(struct line *n, const struct line_user *u, uint32_t *ret_stream, struct err *e)
{
	struct stream *s;

	if (n->fd < 0)
		return err_set(e, ERR_NOT_RUNNING, "sandbox '%s' is not running", n->name);
	s = claim(n);
	if (!s)
		return err_set(e, ERR_LIMIT, "sandbox '%s' runs %u commands already", n->name,
			       LINE_STREAMS_MAX);
	n->serial = n->serial == UINT32_MAX >> SLOT_BITS ? 1 : n->serial + 1;
	s->number = n->serial << SLOT_BITS | (uint32_t)(s - n->stream);
	s->user = *u;
	*ret_stream = s->number;
	return 0;
}

void line_close(struct line *n, uint32_t stream)
{
	struct stream *s = find(n, stream);

	if (s)
		s->number = 0;
}

/* --- the end --------------------------------------------------------------------------------- */

static void cut(struct line *n)
{
	loop_remove(n->loop, &n->watch);
	loop_remove(n->loop, &n->retry);
	fd_closep(&n->fd);
	outbox_clear(&n->out);
}

/* Tells the user of every stream and the owner that the line is down. The callbacks cannot open
 * streams, but may close them. */
static void tell(struct line *n)
{
	loop_remove(n->loop, &n->telling);
	for (uint32_t i = 0; i < n->n_streams; i++) {
		struct line_user u = n->stream[i].user;

		if (!n->stream[i].number)
			continue;
		n->stream[i].number = 0;
		u.gone(u.arg, &n->why);
	}
	if (!n->freed && n->gone)
		n->gone(n->arg, &n->why);
}

static void on_telling(void *arg)
{
	struct line *n = arg;

	enter(n);
	tell(n);
	leave(n);
}

void line_hang_up(struct line *n, const struct err *why)
{
	if (n->fd < 0)
		return;
	cut(n);
	n->why = *why;
	n->telling = loop_add_timer(n->loop, clock_mono_ns(), on_telling, n);
	if (!n->telling)
		out_of_memory();
}

void line_free(struct line *n)
{
	if (!n || n->freed)
		return;
	enter(n);
	n->freed = true;
	if (n->fd >= 0)
		err_set(&n->why, ERR_NOT_RUNNING, "the connection to sandbox '%s' was closed",
			n->name);
	cut(n);
	tell(n);
	leave(n);
}

/* Ends the line, and calls the users of the streams and the owner at once. line_hang_up() calls
 * them later, because its caller expects no callbacks. Only code that reads the socket calls
 * fail(), and this code runs callbacks anyway. Returns 1, so that frame_feed() stops. */
static int fail(struct line *n)
{
	cut(n);
	tell(n);
	return 1;
}

static int garbage(struct line *n)
{
	err_set(&n->why, ERR_PROTOCOL, "sandbox '%s' sent garbage", n->name);
	return fail(n);
}

/* --- what pid 1 says ------------------------------------------------------------------------- */

static int too_old(struct line *n)
{
	err_set(&n->why, ERR_UNSUPPORTED,
		"sandbox '%s' was started by an older version, which cannot end one command alone",
		n->name);
	return 1;
}

/* Drops each message for which pid 1 is too old, and gives an ERROR frame to the user of the
 * message's stream. */
static void refuse_misfits(struct line *n)
{
	uint32_t stream;

	while (n->fd >= 0 && outbox_drop_misfit(&n->out, &stream)) {
		struct stream *s = find(n, stream);
		AUTO_BUF body = BUF_INIT(1024);
		struct frame f;
		struct err e;

		too_old_for(n, &e);
		error_encode(&body, (unsigned)e.code, e.msg);
		f = (struct frame){ .type = FRAME_ERROR,
				    .stream = stream,
				    .body = { body.p, body.n } };
		if (s)
			s->user.frame(s->user.arg, &f);
	}
}

static int take_version(struct line *n)
{
	if (n->out.version < n->needs && too_old(n))
		return fail(n);
	refuse_misfits(n);
	if (n->fd >= 0)
		flush(n);
	return n->fd < 0; /* a user may have closed the line */
}

static int take_hello(struct line *n, const struct frame *f)
{
	struct hello h;

	if (hello_decode(f->body, &h) < 0 || n->out.version)
		return garbage(n);
	outbox_take_version(&n->out, hello_agree(&h));
	if (n->out.version)
		return take_version(n);
	err_set(&n->why, ERR_PROTOCOL,
		"sandbox '%s' speaks protocol %u to %u and this program %u to %u; restart the "
		"sandbox",
		n->name, h.oldest, h.version, WIRE_OLDEST, WIRE_VERSION);
	return fail(n);
}

/* Handles an ERROR frame without a stream, with which pid 1 refuses this connection. */
static int take_refusal(struct line *n, const struct frame *f)
{
	const char *text;
	unsigned code;

	if (error_decode(f->body, &code, &text) < 0 || !text)
		return garbage(n);
	err_set(&n->why, (enum err_code)code, "%s", text);
	return fail(n);
}

static int take_frame(void *arg, const struct frame *f)
{
	struct line *n = arg;
	struct stream *s;

	if (f->type == FRAME_HELLO)
		return take_hello(n, f);
	if (f->type == FRAME_ERROR && f->stream == 0)
		return take_refusal(n, f);
	if (!n->out.version)
		return garbage(n);
	if (f->type == FRAME_PONG && f->stream == 0) {
		outbox_take_pong(&n->out);
		flush(n);
		return 0;
	}
	s = find(n, f->stream);
	if (s)
		s->user.frame(s->user.arg, f);
	return n->fd < 0; /* the user may have closed the line */
}

/* Reads once. Returns true if there may be more to read. */
static bool hear(struct line *n)
{
	char chunk[READ_BYTES];
	ssize_t k = recv(n->fd, chunk, sizeof(chunk), MSG_DONTWAIT);

	if (k < 0 && errno == EINTR)
		return true;
	if (k < 0 && errno == EAGAIN)
		return false;
	if (k <= 0) {
		err_set(&n->why, ERR_NOT_RUNNING, "sandbox '%s' ended", n->name);
		fail(n);
		return false;
	}
	if (frame_feed(&n->in, chunk, (size_t)k, take_frame, n) < 0)
		garbage(n);
	return n->fd >= 0;
}

static void on_socket(void *arg, int fd, uint32_t events)
{
	struct line *n = arg;

	enter(n);
	if (events & LOOP_WRITE)
		flush(n);
	if (events & ~LOOP_WRITE)
		hear(n);
	tell_room(n);
	leave(n);
}

void line_hear(struct line *n)
{
	enter(n);
	for (unsigned i = 0; n->fd >= 0 && i < HEAR_READS && hear(n); i++)
		;
	tell_room(n);
	leave(n);
}

void line_need(struct line *n, uint32_t version)
{
	struct err why;

	if (version > n->needs)
		n->needs = version;
	if (n->fd < 0 || !n->out.version || n->out.version >= n->needs)
		return;
	too_old(n);
	why = n->why;
	line_hang_up(n, &why);
}

/* --- the line -------------------------------------------------------------------------------- */

int line_new(struct loop *loop, const char *name, int fd, line_gone_fn *gone, void *arg,
	     struct line **ret, struct err *e)
{
	struct line *n = xcalloc(1, sizeof(*n));
	AUTO_BUF hello = BUF_INIT(256);

	n->loop = loop;
	n->name = xstrdup(name);
	n->fd = fd;
	outbox_init(&n->out);
	n->gone = gone;
	n->arg = arg;
	buf_init(&n->in, FRAME_BODY_MAX_BYTES + FRAME_HEADER_BYTES + READ_BYTES);
	n->watch = loop_add_fd(loop, fd, LOOP_READ, on_socket, n);
	if (!n->watch) {
		err_sys(e, errno, "watch the connection to sandbox '%s'", name);
		line_free(n);
		return -1;
	}
	/* pid 1 sends its HELLO together with its first answer. Because of the PING, it answers
	 * at once. */
	hello_encode(&hello);
	frame_put(&hello, FRAME_PING, 0, NOBODYS_STREAM, NULL, 0);
	if (line_send(n, LINE_REQUEST, &hello, NULL, 0, e) < 0) {
		line_free(n);
		return -1;
	}
	*ret = n;
	return 0;
}

const char *line_name(const struct line *n)
{
	return n->name;
}

struct loop *line_loop(const struct line *n)
{
	return n->loop;
}

bool line_is_up(const struct line *n)
{
	return n->fd >= 0;
}

uint32_t line_version(const struct line *n)
{
	return n->out.version;
}
