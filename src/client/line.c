/*
 * A stream's number is {serial, slot}: a frame that comes after its stream was closed compares unequal to
 * whatever has the slot by then.
 *
 * How descriptors are sent. pid 1 keeps the descriptors that it received in one place until an EXEC or a LEAVE
 * takes them, and it has room for those of one frame. So two things must not happen: descriptors of a second
 * frame arrive while the first frame is incomplete, or descriptors arrive together with an EXEC that has none
 * (a terminal's). Against the first, the descriptors travel with the last byte of their message, which goes
 * alone: a recvmsg never reads past bytes that carry descriptors, so pid 1 has the whole frame then and
 * nothing after it. Against the second, an EXEC without descriptors is followed by a PING, and the next
 * message with descriptors waits for the PONG.
 */
#include "client/line.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fdpass.h"
#include "wire/message.h"

#define READ_BYTES 16384
#define HEAR_READS 64             /* line_hear() is bounded work */
#define RETRY_NS (20 * NS_PER_MS) /* when no event tells that sending is possible again */
#define NOBODYS_STREAM 1u         /* serials begin with 1: no stream has this number */
#define SLOT_BITS 8
static_assert(LINE_STREAMS_MAX == 1u << SLOT_BITS, "a stream's number holds its slot");

struct message {
	struct message *next;
	struct buf b;
	size_t at; /* so many bytes went */
	int fd[FRAME_FDS_MAX];
	unsigned n_fds;
	bool pings;     /* it ends with a PING that later descriptors wait for */
	uint32_t needs; /* pid 1 must speak this protocol, or 0 */
};

struct stream {
	uint32_t number; /* 0: free */
	struct line_user user;
};

struct line {
	struct loop *loop; /* borrowed */
	char *name;
	int fd; /* -1: down */
	loop_id watch, retry, telling;
	struct buf in;
	uint32_t version, needs;
	uint32_t pings; /* PONGs that have not come */
	struct message *first, **last;
	unsigned n_messages;
	size_t n_bytes;
	bool deaf; /* pid 1 takes nothing any more: its end of file comes, after all that it said */
	uint32_t serial;
	struct stream *stream;
	uint32_t n_streams;
	line_gone_fn *gone;
	void *arg;
	struct err why;
	unsigned depth; /* callbacks that are running */
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

static void message_free(struct message *m)
{
	while (m->n_fds > 0)
		close(m->fd[--m->n_fds]);
	buf_done(&m->b);
	free(m);
}

static void drop_first(struct line *n)
{
	struct message *m = n->first;

	n->first = m->next;
	if (!n->first)
		n->last = &n->first;
	n->n_messages--;
	n->n_bytes -= m->b.n;
	message_free(m);
}

static void drop_queue(struct line *n)
{
	while (n->first)
		drop_first(n);
}

/* Sends some of a message: bytes, or -errno. */
static ssize_t send_some(const struct line *n, const struct message *m)
{
	bool last = m->at + 1 == m->b.n;
	size_t some = m->b.n - m->at - (m->n_fds > 0 && !last);

	return fdpass_try(n->fd, m->b.p + m->at, some, m->fd, last ? m->n_fds : 0);
}

static void flush(struct line *n);

static void on_retry(void *arg)
{
	struct line *n = arg;

	n->retry = 0;
	flush(n);
}

/* The next message must wait for something that pid 1 says. */
static bool is_held(const struct line *n)
{
	const struct message *m = n->first;

	return m && ((m->n_fds > 0 && n->pings > 0) || (m->needs && !n->version));
}

/* What the loop shall tell us. */
static void watch(struct line *n)
{
	bool held = is_held(n);

	loop_change_fd(n->loop, n->watch,
		       LOOP_READ | (n->first && !held && !n->retry ? LOOP_WRITE : 0));
}

static void flush(struct line *n)
{
	while (n->first && n->fd >= 0 && !n->retry) {
		struct message *m = n->first;
		ssize_t k;

		if (is_held(n))
			break;
		k = send_some(n, m);
		if (k >= 0) {
			m->at += (size_t)k;
			if (m->at < m->b.n)
				continue;
			n->pings += m->pings;
			drop_first(n);
		} else if (k == -EAGAIN) {
			break;
		} else if (k == -ETOOMANYREFS || k == -ENOBUFS || k == -ENOMEM) {
			n->retry = loop_add_timer(n->loop, clock_mono_ns() + RETRY_NS, on_retry, n);
			if (!n->retry)
				out_of_memory();
		} else {
			n->deaf = true;
			drop_queue(n);
		}
	}
	if (n->fd >= 0)
		watch(n);
}

static bool is_bare_exec(const struct buf *b, unsigned n_fds)
{
	struct str in = { b->p, b->n };
	struct frame f;

	return n_fds == 0 && frame_next(&in, &f) > 0 && f.type == FRAME_EXEC;
}

static int queue(struct line *n, enum line_message kind, uint32_t needs, struct buf *b,
		 const int *fds, unsigned n_fds, struct err *e)
{
	struct message *m = xcalloc(1, sizeof(*m));
	bool first = !n->first;

	m->needs = needs;
	if (is_bare_exec(b, n_fds)) {
		frame_put(b, FRAME_PING, 0, 0, NULL, 0);
		m->pings = true;
	}
	m->b = *b;
	buf_init(b, b->max);
	m->n_fds = n_fds;
	for (unsigned i = 0; i < n_fds; i++)
		m->fd[i] = fds[i];
	if (n->fd < 0 || n->deaf || buf_failed(&m->b) || m->b.n == 0 ||
	    (kind == LINE_REQUEST && (n->n_messages >= LINE_QUEUE_MESSAGES_MAX ||
				      n->n_bytes + m->b.n > LINE_QUEUE_BYTES_MAX))) {
		bool long_one = buf_failed(&m->b);

		message_free(m);
		if (n->fd < 0 || n->deaf)
			return err_set(e, ERR_NOT_RUNNING, "sandbox '%s' is not running", n->name);
		return long_one ? err_set(e, ERR_LIMIT,
					  "the command and its environment are too long")
				: err_set(e, ERR_LIMIT, "too many requests wait for sandbox '%s'",
					  n->name);
	}
	*n->last = m;
	n->last = &m->next;
	n->n_messages++;
	n->n_bytes += m->b.n;
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
	if (!n->version || n->version >= version)
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

/* A free slot, or NULL. */
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
	drop_queue(n);
}

/* A callback may open no stream any more, but close any. */
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

/* Told at once: we are in a callback of the loop. Returns 1. */
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

/* Takes the first message that pid 1 is too old for out of the queue. */
static struct message *take_misfit(struct line *n)
{
	struct message **at = &n->first, *m;

	while (*at && (*at)->needs <= n->version)
		at = &(*at)->next;
	m = *at;
	if (!m)
		return NULL;
	*at = m->next;
	if (n->last == &m->next)
		n->last = at;
	n->n_messages--;
	n->n_bytes -= m->b.n;
	return m;
}

/* Tells the streams of such messages. */
static void refuse_misfits(struct line *n)
{
	struct message *m;

	while (n->fd >= 0 && (m = take_misfit(n))) {
		struct str in = { m->b.p, m->b.n };
		AUTO_BUF body = BUF_INIT(1024);
		struct stream *s;
		struct frame f;
		struct err e;

		IGNORE(frame_next(&in, &f)); /* it is ours, and whole */
		s = find(n, f.stream);
		message_free(m);
		too_old_for(n, &e);
		error_encode(&body, (unsigned)e.code, e.msg);
		f = (struct frame){ .type = FRAME_ERROR,
				    .stream = f.stream,
				    .body = { body.p, body.n } };
		if (s)
			s->user.frame(s->user.arg, &f);
	}
}

static int take_version(struct line *n)
{
	if (n->version < n->needs && too_old(n))
		return fail(n);
	refuse_misfits(n);
	if (n->fd >= 0)
		flush(n);
	return n->fd < 0; /* a user may have closed the line */
}

static int take_hello(struct line *n, const struct frame *f)
{
	struct hello h;

	if (hello_decode(f->body, &h) < 0 || n->version)
		return garbage(n);
	n->version = hello_agree(&h);
	if (n->version)
		return take_version(n);
	err_set(&n->why, ERR_PROTOCOL,
		"sandbox '%s' speaks protocol %u to %u and this program %u to %u; restart the "
		"sandbox",
		n->name, h.oldest, h.version, WIRE_OLDEST, WIRE_VERSION);
	return fail(n);
}

/* An error that belongs to no stream: pid 1 does not want this connection. */
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
	if (!n->version)
		return garbage(n);
	if (f->type == FRAME_PONG && f->stream == 0) {
		if (n->pings > 0 && --n->pings == 0)
			flush(n);
		return 0;
	}
	s = find(n, f->stream);
	if (s)
		s->user.frame(s->user.arg, f);
	return n->fd < 0; /* the user may have closed the line */
}

/* True while there may be more. */
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
	leave(n);
}

void line_hear(struct line *n)
{
	enter(n);
	for (unsigned i = 0; n->fd >= 0 && i < HEAR_READS && hear(n); i++)
		;
	leave(n);
}

void line_need(struct line *n, uint32_t version)
{
	struct err why;

	if (version > n->needs)
		n->needs = version;
	if (n->fd < 0 || !n->version || n->version >= n->needs)
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
	n->last = &n->first;
	n->gone = gone;
	n->arg = arg;
	buf_init(&n->in, FRAME_BODY_MAX_BYTES + FRAME_HEADER_BYTES + READ_BYTES);
	n->watch = loop_add_fd(loop, fd, LOOP_READ, on_socket, n);
	if (!n->watch) {
		err_sys(e, errno, "watch the connection to sandbox '%s'", name);
		line_free(n);
		return -1;
	}
	/* pid 1 says its HELLO together with its first answer: the PING makes it answer at once */
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
	return n->version;
}
