#include "box/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define CHUNK_BYTES (64u << 10)
/* The longest queue. Usually another limit is reached first: the server's ceiling
 * (service/ceiling.h), which counts the queues of all streams. */
#define QUEUE_MAX_BYTES (512u << 20)
#define QUEUE_KEEP_BYTES (4u << 10) /* memory that an empty queue keeps */
#define LEFT_MAX_BYTES (32u << 20)  /* input that the owner has not taken */

struct stream {
	struct loop *loop;
	int in, out;
	loop_id in_watch, out_watch, soon;
	struct ceiling *ceiling;
	struct stream_user user;
	struct buf left; /* input that the owner has not taken */
	struct buf queue;
	size_t sent; /* how many bytes at the front of the queue were already sent */
	bool wanted, finishing, over;
	bool out_waits;   /* queued bytes wait until the descriptor takes them */
	bool unwatchable; /* epoll refuses the input descriptor */
	bool broken;      /* a part of the queue was dropped, so no byte may follow */
	unsigned depth;
	bool freed;
};

static void on_in(void *arg, int fd, uint32_t events);
static void on_out(void *arg, int fd, uint32_t events);
static void on_soon(void *arg);

static void enter(struct stream *s)
{
	s->depth++;
}

static void leave(struct stream *s)
{
	if (--s->depth > 0 || !s->freed)
		return;
	buf_done(&s->left);
	buf_done(&s->queue);
	free(s);
}

/* --- watches --------------------------------------------------------------------------------- */

static void do_soon(struct stream *s)
{
	if (!s->soon)
		s->soon = loop_add_timer(s->loop, clock_mono_ns(), on_soon, s);
	if (!s->soon)
		out_of_memory();
}

/* epoll refuses files and /dev/null with EPERM, because they never block. The stream reads such
 * a descriptor from a timer. */
static void watch_input(struct stream *s)
{
	s->in_watch = loop_add_fd(s->loop, s->in, LOOP_READ, on_in, s);
	s->unwatchable = !s->in_watch && errno == EPERM;
	if (s->unwatchable)
		do_soon(s);
	else if (!s->in_watch)
		stream_abandon(s); /* without a watch the stream would wait forever */
}

static void on_socket(void *arg, int fd, uint32_t events)
{
	if (events & LOOP_WRITE)
		/* if there is also input, ignore it now: the loop reports it again in its next
		 * turn */
		on_out(arg, fd, events);
	else
		on_in(arg, fd, events);
}

/* epoll takes a descriptor only once, so a socket has one watch for both directions. */
static void watch_socket(struct stream *s, uint32_t events)
{
	if (!events)
		loop_remove(s->loop, &s->in_watch);
	else if (s->in_watch)
		loop_change_fd(s->loop, s->in_watch, events);
	else if (!(s->in_watch = loop_add_fd(s->loop, s->in, events, on_socket, s)))
		stream_abandon(s); /* without a watch the stream would wait forever */
}

static void watch(struct stream *s)
{
	bool read = s->wanted && !s->finishing && !s->over &&
		    stream_queued(s) < STREAM_HIGH_WATER_BYTES;
	bool write = !s->over && stream_queued(s) > 0;

	s->out_waits = write;
	if (s->in == s->out) {
		watch_socket(s, (read ? LOOP_READ : 0) | (write ? LOOP_WRITE : 0));
		return;
	}
	if (!read)
		loop_remove(s->loop, &s->in_watch);
	else if (!s->in_watch)
		watch_input(s);
	if (!write)
		loop_remove(s->loop, &s->out_watch);
	else if (!s->out_watch &&
		 !(s->out_watch = loop_add_fd(s->loop, s->out, LOOP_WRITE, on_out, s)))
		stream_abandon(s); /* without a watch the stream would wait forever */
}

static void end(struct stream *s)
{
	if (s->over)
		return;
	s->over = true;
	watch(s);
	loop_remove(s->loop, &s->soon);
	s->user.gone(s->user.arg);
}

/* --- output ---------------------------------------------------------------------------------- */

/* Removes the sent bytes from the queue when they are more than the rest: each byte is then moved
 * once at most on average. If the sent bytes stayed in the queue until the queue is empty, a peer
 * that never takes all bytes would make the queue grow for ever. */
static void drop_sent(struct stream *s)
{
	if (s->sent <= s->queue.n / 2)
		return;
	buf_drop(&s->queue, s->sent);
	s->sent = 0;
}

/* Empties the queue, and frees its memory if it was large. */
static void forget_queue(struct stream *s)
{
	if (s->queue.cap > QUEUE_KEEP_BYTES)
		buf_done(&s->queue);
	buf_clear(&s->queue);
	s->sent = 0;
}

/* Sends as much of the queue as the descriptor takes. Returns false if the connection broke. */
static bool flush(struct stream *s)
{
	while (s->sent < s->queue.n) {
		ssize_t n = write(s->out, s->queue.p + s->sent, s->queue.n - s->sent);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			drop_sent(s);
			return true;
		}
		if (n < 0)
			return false;
		s->sent += (size_t)n;
		ceiling_give(s->ceiling, (size_t)n);
	}
	forget_queue(s);
	return true;
}

/* Lets the loop end the stream later, so that `gone` is not called while the owner is calling a
 * function of the stream. */
static void give_up(struct stream *s)
{
	s->finishing = true;
	do_soon(s);
}

/* Counts N more bytes of the queue against the ceiling. Returns false if the stream accepts no
 * more bytes. */
static bool make_room(struct stream *s, size_t n)
{
	bool taken;

	if (s->over || s->broken)
		return false;
	if (n > QUEUE_MAX_BYTES - s->queue.n) {
		stream_abandon(s);
		return false;
	}
	taken = ceiling_take(s->ceiling, n);
	if (taken && !s->broken)
		return true;
	/* Either the ceiling has too few bytes left, or ceiling_take() has called peers_relieve(),
	 * which has abandoned this stream because its queue was the longest. */
	ceiling_give(s->ceiling, taken ? n : 0);
	stream_abandon(s);
	return false;
}

void stream_add(struct stream *s, const void *head, size_t n_head, const void *p, size_t n)
{
	if (!make_room(s, n_head + n))
		return;
	buf_add(&s->queue, head, n_head);
	buf_add(&s->queue, p, n);
	if (!s->out_waits)
		do_soon(s);
}

void stream_send(struct stream *s, struct buf *b)
{
	if (buf_failed(b))
		stream_abandon(s);
	if (!make_room(s, b->n)) {
		buf_clear(b);
		return;
	}
	buf_add(&s->queue, b->p, b->n);
	buf_clear(b);
	if (!s->out_waits && !flush(s))
		give_up(s);
	watch(s);
}

void stream_abandon(struct stream *s)
{
	if (s->over)
		return;
	ceiling_give(s->ceiling, stream_queued(s));
	forget_queue(s);
	s->broken = true;
	give_up(s);
	watch(s);
}

size_t stream_queued(const struct stream *s)
{
	return s->queue.n - s->sent;
}

static void on_out(void *arg, int fd, uint32_t events)
{
	struct stream *s = arg;
	bool high = stream_queued(s) >= STREAM_HIGH_WATER_BYTES;

	enter(s);
	if (!flush(s)) {
		end(s);
	} else if (stream_queued(s) == 0) {
		if (s->finishing)
			end(s);
		else if (s->user.drained)
			s->user.drained(s->user.arg);
	}
	if (!s->over) {
		watch(s);
		if (high && s->left.n > 0)
			do_soon(s);
	}
	leave(s);
}

/* --- input ----------------------------------------------------------------------------------- */

static void give(struct stream *s, const char *p, size_t n)
{
	size_t taken = s->user.input(s->user.arg, p, n);

	if (s->over || s->freed)
		return;
	if (p == s->left.p)
		buf_drop(&s->left, taken);
	else
		buf_add(&s->left, p + taken, n - taken);
}

static void on_in(void *arg, int fd, uint32_t events)
{
	struct stream *s = arg;
	char chunk[CHUNK_BYTES];
	ssize_t n = read(fd, chunk, sizeof(chunk));

	enter(s);
	if (n > 0 && s->left.n > 0) {
		buf_add(&s->left, chunk, (size_t)n);
		give(s, s->left.p, s->left.n);
	} else if (n > 0) {
		give(s, chunk, (size_t)n);
	}
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) || buf_failed(&s->left))
		end(s);
	else if (!s->over)
		watch(s);
	leave(s);
}

/* Sends what stream_add() queued. Returns false if the connection broke. */
static bool send_added(struct stream *s)
{
	if (stream_queued(s) == 0 || s->out_waits)
		return true;
	if (!flush(s))
		return false;
	if (stream_queued(s) == 0 && !s->finishing && s->user.drained)
		s->user.drained(s->user.arg);
	return true;
}

/* If the owner has left some input, offers it to the owner again. Otherwise, reads the input
 * descriptor if the loop cannot watch it. */
static void take_more(struct stream *s)
{
	if (s->left.n > 0)
		give(s, s->left.p, s->left.n);
	else if (s->unwatchable)
		on_in(s, s->in, LOOP_READ);
}

/* Sends what was added and handles input. Ends the stream after a failure, or when a finishing
 * stream has sent everything. */
static void on_soon(void *arg)
{
	struct stream *s = arg;

	s->soon = 0;
	enter(s);
	if (!send_added(s) || (s->finishing && stream_queued(s) == 0))
		end(s);
	else if (!s->over && s->wanted && !s->finishing &&
		 stream_queued(s) < STREAM_HIGH_WATER_BYTES)
		take_more(s);
	if (!s->over)
		watch(s);
	leave(s);
}

void stream_read(struct stream *s, bool want)
{
	if (want && !s->wanted && s->left.n > 0)
		do_soon(s);
	s->wanted = want;
	watch(s);
}

void stream_finish(struct stream *s)
{
	s->finishing = true;
	if (stream_queued(s) == 0)
		do_soon(s);
	watch(s);
}

/* --- the stream ------------------------------------------------------------------------------ */

int stream_fd(const struct stream *s)
{
	return s->in;
}

int stream_new(struct loop *loop, int in, int out, struct ceiling *ceiling,
	       const struct stream_user *u, struct stream **ret)
{
	struct stream *s = xcalloc(1, sizeof(*s));

	s->loop = loop;
	s->in = in;
	s->out = out;
	s->ceiling = ceiling;
	s->user = *u;
	s->wanted = true;
	buf_init(&s->left, LEFT_MAX_BYTES);
	buf_init(&s->queue, QUEUE_MAX_BYTES);
	if (fcntl(in, F_SETFL, O_NONBLOCK) < 0 || fcntl(out, F_SETFL, O_NONBLOCK) < 0) {
		int r = -errno;

		stream_free(s);
		return r;
	}
	watch(s);
	*ret = s;
	return 0;
}

void stream_free(struct stream *s)
{
	if (!s || s->freed)
		return;
	s->over = true;
	watch(s);
	loop_remove(s->loop, &s->soon);
	ceiling_give(s->ceiling, stream_queued(s));
	if (s->out != s->in)
		fd_closep(&s->out);
	fd_closep(&s->in);
	s->freed = true;
	enter(s);
	leave(s);
}
