#include "client/leash.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "wire/leash.h"

#define CHUNK_BYTES 4096
#define IN_MAX_BYTES (64u << 10)
/* more than a request needs: the byte LEASH_LIMITS, and a frame with the limits */
#define REQUEST_MAX_BYTES 256u
/* the + 1 is for the frame that put_marker() sends */
#define OUT_MAX_BYTES (LEASH_LOG_QUEUE_BYTES + (LEASH_REQUESTS_MAX + 1) * REQUEST_MAX_BYTES)

struct request {
	leash_answer_fn *fn;
	void *arg;
};

/* `depth` counts the callbacks that are running. The memory of a freed leash is freed when the
 * last callback has returned. */
struct leash {
	struct loop *loop;
	int fd; /* -1 if the sandbox is gone, or the leash was freed */
	loop_id watch;
	struct buf in;
	struct buf out; /* what the socket has not taken yet */
	struct leash_meter meter;
	size_t taken; /* how many bytes of `out` the meter has counted */
	/* True if output for the log was dropped. Until `out` is empty, all further output is
	 * dropped, too. Then a marker is sent, with the number and the flags of the first dropped
	 * output. */
	bool lost;
	uint32_t lost_id;
	unsigned lost_flags;
	struct request request[LEASH_REQUESTS_MAX];
	unsigned first, n;
	unsigned depth;
	bool ending, freed;
	leash_gone_fn *gone;
	void *arg;
};

static void enter(struct leash *l)
{
	l->depth++;
}

static void leave(struct leash *l)
{
	if (--l->depth > 0 || !l->freed)
		return;
	buf_done(&l->in);
	buf_done(&l->out);
	free(l);
}

/* Call this after bytes were sent or dropped. If l->out has fewer bytes than l->taken, gives the
 * difference back to the meter. l->taken counts only output for the log. It does not count
 * requests, because they are few. */
static void give_back_sent(struct leash *l)
{
	size_t now = l->taken < l->out.n ? l->taken : l->out.n;

	if (l->taken > now)
		l->meter.give(l->meter.arg, l->taken - now);
	l->taken = now;
}

/* Sends B after the bytes that already wait in l->out. What the socket does not take now is sent
 * later. Returns 0 or -errno. */
static int put(struct leash *l, const struct buf *b)
{
	ssize_t n = 0;

	if (l->out.n == 0)
		n = send(l->fd, b->p, b->n, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return -errno;
	if (n < 0)
		n = 0;
	if ((size_t)n == b->n)
		return 0;
	buf_add(&l->out, b->p + n, b->n - (size_t)n);
	loop_change_fd(l->loop, l->watch, LOOP_READ | LOOP_WRITE);
	return 0;
}

static void add_log(struct buf *b, uint32_t id, unsigned flags, const char *p, size_t n)
{
	buf_add_char(b, LEASH_LOG);
	frame_put(b, FRAME_LOG, flags, id, p, n);
}

static void put_marker(struct leash *l)
{
	static const char marker[] = "\n[output lost: the log was slower than the command]\n";
	AUTO_BUF b = BUF_INIT(REQUEST_MAX_BYTES);

	l->lost = false;
	add_log(&b, l->lost_id, l->lost_flags, marker, sizeof(marker) - 1);
	IGNORE(put(l, &b)); /* if the supervisor has closed its end, the next read says so */
}

static void put_rest(struct leash *l)
{
	ssize_t n = send(l->fd, l->out.p, l->out.n, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n > 0)
		buf_drop(&l->out, (size_t)n);
	/* after such an error the supervisor has closed its end, and the next read says so */
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		buf_clear(&l->out);
	give_back_sent(l);
	if (l->out.n > 0)
		return;
	buf_done(&l->out); /* free the memory, because most leashes never need it again */
	buf_init(&l->out, OUT_MAX_BYTES);
	loop_change_fd(l->loop, l->watch, LOOP_READ);
	if (l->lost)
		put_marker(l);
}

static void answer(struct leash *l, const struct err *why)
{
	struct request q = l->request[l->first];

	l->first = (l->first + 1) % LEASH_REQUESTS_MAX;
	l->n--;
	q.fn(q.arg, why);
}

static void hang_up(struct leash *l)
{
	loop_remove(l->loop, &l->watch);
	fd_closep(&l->fd);
	buf_clear(&l->out);
	give_back_sent(l);
}

/* Answers every open request. Then tells the owner that the sandbox is gone. */
static void be_gone(struct leash *l)
{
	struct err why;

	hang_up(l);
	err_set(&why, ERR_NOT_RUNNING, "the sandbox is gone");
	while (!l->freed && l->n > 0)
		answer(l, &why);
	if (!l->freed)
		l->gone(l->arg);
}

/* Takes a frame as the answer to the oldest request. If no request waits, the frame belongs to the
 * start of the sandbox and is ignored. */
static int on_frame(void *arg, const struct frame *f)
{
	struct leash *l = arg;
	struct err why = { 0 };
	const char *text;
	unsigned code;

	if (l->n == 0)
		return 0;
	if (f->type == FRAME_OK) {
		answer(l, NULL);
	} else if (f->type == FRAME_ERROR && error_decode(f->body, &code, &text) == 0) {
		err_set(&why, (enum err_code)code, "%s", text);
		answer(l, &why);
	}
	return l->freed || l->fd < 0;
}

static void on_ready(void *arg, int fd, uint32_t events)
{
	struct leash *l = arg;
	char chunk[CHUNK_BYTES];
	ssize_t n;

	if (events & LOOP_WRITE && l->out.n > 0)
		put_rest(l);
	n = recv(fd, chunk, sizeof(chunk), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	enter(l);
	if (n <= 0 || frame_feed(&l->in, chunk, (size_t)n, on_frame, l) < 0)
		be_gone(l);
	leave(l);
}

int leash_new(struct loop *loop, int fd, leash_gone_fn *gone, void *arg, struct leash **ret,
	      struct err *e)
{
	AUTO_FD taken = fd;
	struct leash *l = xcalloc(1, sizeof(*l));

	*l = (struct leash){ .loop = loop, .fd = fd, .gone = gone, .arg = arg };
	buf_init(&l->in, IN_MAX_BYTES);
	buf_init(&l->out, OUT_MAX_BYTES);
	l->watch = loop_add_fd(loop, fd, LOOP_READ, on_ready, l);
	if (!l->watch) {
		free(l);
		return err_sys(e, errno, "watch the leash of a sandbox");
	}
	IGNORE(fd_take(&taken));
	*ret = l;
	return 0;
}

void leash_free(struct leash *l)
{
	if (!l)
		return;
	hang_up(l);
	l->freed = true;
	enter(l);
	leave(l);
}

void leash_end(struct leash *l)
{
	l->ending = true;
	buf_clear(&l->out);
	give_back_sent(l);
	if (l->fd < 0)
		return;
	loop_change_fd(l->loop, l->watch, LOOP_READ);
	IGNORE(shutdown(l->fd, SHUT_WR)); /* the sandbox may have ended already */
}

int leash_set_limits(struct leash *l, const struct limits_message *m, leash_answer_fn *fn,
		     void *arg, struct err *e)
{
	AUTO_BUF body = BUF_INIT(128), b = BUF_INIT(REQUEST_MAX_BYTES);

	if (l->fd < 0 || l->ending)
		return err_set(e, ERR_NOT_RUNNING, "the sandbox is gone");
	if (l->n == LEASH_REQUESTS_MAX)
		return err_set(e, ERR_LIMIT, "more than %u requests wait on a leash",
			       LEASH_REQUESTS_MAX);
	limits_encode(&body, m);
	buf_add_char(&b, LEASH_LIMITS);
	frame_put(&b, FRAME_LIMITS, 0, 0, body.p, body.n);
	if (put(l, &b) < 0)
		return err_set(e, ERR_NOT_RUNNING,
			       "the supervisor of the sandbox takes no request");
	l->request[(l->first + l->n++) % LEASH_REQUESTS_MAX] = (struct request){ fn, arg };
	return 0;
}

void leash_set_meter(struct leash *l, const struct leash_meter *m)
{
	l->meter = *m;
}

/* Sends one piece of output for the log. Returns false if there is no room; the caller then drops
 * the piece. */
static bool log_piece(struct leash *l, uint32_t id, unsigned flags, const char *p, size_t n)
{
	AUTO_BUF b = BUF_INIT(1 + FRAME_HEADER_BYTES + LEASH_LOG_MAX_BYTES);

	add_log(&b, id, flags, p, n);
	if (l->out.n + b.n > LEASH_LOG_QUEUE_BYTES || !l->meter.take(l->meter.arg, b.n))
		return false;
	l->taken += b.n;
	IGNORE(put(l, &b)); /* if the supervisor has closed its end, the next read says so */
	give_back_sent(l);
	return true;
}

void leash_log(struct leash *l, uint64_t id, unsigned flags, const char *p, size_t n)
{
	size_t piece;

	if (l->lost && l->out.n == 0 && l->fd >= 0 && !l->ending)
		put_marker(l);
	for (; n > 0 && l->fd >= 0 && !l->ending && !l->lost; p += piece, n -= piece) {
		piece = n < LEASH_LOG_MAX_BYTES ? n : LEASH_LOG_MAX_BYTES;
		if (log_piece(l, (uint32_t)id, flags, p, piece))
			continue;
		l->lost = true;
		l->lost_id = (uint32_t)id;
		l->lost_flags = flags;
	}
}
